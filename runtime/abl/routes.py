"""HANDOFF: the routes of an agent, with HISTORY read as H6 says."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from runtime.abl.diagnostics import Findings, quoted
from runtime.abl.entries import (
    Word,
    assignments_of,
    keys_of,
    not_executed,
    pairs_of,
    template_of,
    truth_of,
    unknown_keys,
    when_of,
    whole_number,
    words_of,
)
from runtime.abl.history_setting import NAMED, HistorySetting, LastN, Read, bare, read_line, whole
from runtime.abl.lines import Node, text_of, unquoted
from runtime.abl.parser import Section
from runtime.abl.project import OnFailure, OnReturn, Remote, Route

_ENTRY_KEYS = (
    "TO", "WHEN", "PRIORITY", "CONTEXT", "PASS", "SUMMARY", "HISTORY", "SET", "RETURN", "EXPECT_RETURN", "ON_RETURN",
    "ON_FAILURE", "LOCATION", "ENDPOINT", "PROTOCOL", "REMOTE", "EXPERIENCE_MODE", "ASYNC", "ASYNC_TIMEOUT", "TIMEOUT",
    "MEMORY_GRANTS", "ON_TIMEOUT",
)  # fmt: skip
_ENTRY_KEPT = frozenset({"experience_mode", "async", "async_timeout", "timeout", "memory_grants", "on_timeout"})
_CONTEXT_KEYS = ("pass", "summary", "history", "set", "memory_grants")
_RUNTIME_NAMES = frozenset({"intent", "input", "user", "session", "human", "recent_input", "handoff_from"})
_ON_RETURN_KEYS = ("action", "handler", "resume_with", "map", "set")
_MODES = "write full, none, summary_only, auto or last_n with a count"
_LINE_FORMS = "write full, none, summary_only, auto or a count such as last_5"
_FALLBACK = "the route falls back to the default, which is full unless project.json says otherwise"


@dataclass(frozen=True, slots=True)
class _Context:
    """PASS, SUMMARY, HISTORY and SET of one entry, wherever in it they stand: the last of each is read."""

    passes: Node | None = None
    summary: Node | None = None
    history: Node | None = None
    assignments: Node | None = None


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a route may refer to: the names its agent declares, and its RETURN_HANDLERS by name."""

    declared: frozenset[str]
    handlers: Mapping[str, OnReturn]


def read_routes(section: Section, around: Surroundings, order: int, findings: Findings) -> list[Route]:
    """The routes of one HANDOFF section; `order` is the place of the first. An entry without `- TO: Name` is E346."""
    routes: list[Route] = []
    if section.node.value:
        problem = f"HANDOFF stands alone on its line; write {quoted(section.node.value)} below it"
        findings.add("E346", section.node.line, section.node.value_column, problem)
    for child in section.node.children:
        if not child.bullet or child.key.upper() != "TO":
            problem = f"{quoted(child.written)} is no route; begin each with - TO: Agent_Name"
            findings.add("E346", child.line, child.column, problem)
            continue
        target = child.value
        if not re.fullmatch(r"\w+", target):
            proper = re.sub(r"\W+", "_", unquoted(target).strip()).strip("_") or "Agent_Name"
            problem = f"{quoted(target)} is no agent name, so the route is not read; write - TO: {proper}"
            findings.add("E346", child.line, child.value_column, problem)
            continue
        routes.append(_route(child, around, order + len(routes), findings))
    return routes


def _route(entry: Node, around: Surroundings, order: int, findings: Findings) -> Route:
    keys = keys_of(entry)
    unknown_keys(keys, _ENTRY_KEYS, "a HANDOFF entry", findings)
    not_executed(keys, _ENTRY_KEPT, "a HANDOFF entry", findings)
    by_name = {node.key.upper(): node for node in keys}
    context = _context(keys, findings)
    summary = template_of(context.summary, findings) if context.summary else ""
    passes = words_of(context.passes, findings) if context.passes else ()
    _judge_pass(passes, around.declared, findings)
    history = read_history(context.history, findings) if context.history else None
    returns = _returns(by_name, findings)
    priority = by_name.get("PRIORITY")
    on_failure = by_name.get("ON_FAILURE")
    assignments = assignments_of(context.assignments, findings) if context.assignments else ()
    _judge_history(entry, history, bool(summary.strip()), bool(passes), findings)
    return Route(
        to=entry.value,
        when=when_of(by_name.get("WHEN"), entry, findings),
        priority=whole_number(priority, findings) if priority else None,
        order=order,
        passes=tuple(word.text for word in passes),
        assignments=assignments,
        summary=summary,
        history=history,
        returns=returns,
        on_return=_on_return(by_name.get("ON_RETURN"), around.handlers, returns, findings),
        on_failure=_on_failure(on_failure, findings) if on_failure else OnFailure(),
        remote=_remote(by_name, findings),
        file=findings.file,
        line=entry.line,
    )


def _context(keys: tuple[Node, ...], findings: Findings) -> _Context:
    """The four keys, from the entry (any case) and from its CONTEXT (lower case only); doubles are W333."""
    last: dict[str, Node] = {}
    for node in keys:
        name = node.key.lower()
        if name == "context":
            for inner in node.children:
                _context_key(inner, last, findings)
        elif name in ("pass", "summary", "history", "set"):
            _take(name, node, last, findings)
    return _Context(last.get("pass"), last.get("summary"), last.get("history"), last.get("set"))


def _context_key(inner: Node, last: dict[str, Node], findings: Findings) -> None:
    name = inner.key
    if name in ("pass", "summary", "history", "set"):
        _take(name, inner, last, findings)
    elif name.lower() in _CONTEXT_KEYS and name != name.lower():
        problem = f"{quoted(name)} is not read inside CONTEXT; write {name.lower()}, in lower case"
        findings.add("W333", inner.line, inner.text_column, problem)
    elif name == "memory_grants":
        not_executed((inner,), frozenset({name}), "CONTEXT", findings)
    else:
        unknown_keys((inner,), _CONTEXT_KEYS, "CONTEXT", findings)


def _take(name: str, node: Node, last: dict[str, Node], findings: Findings) -> None:
    before = last.get(name)
    if before is not None:
        problem = f"{name.upper()} stands twice in this route (first in line {before.line}) and the last one is read"
        findings.add("W333", node.line, node.text_column, f"{problem}; keep one of the two")
    last[name] = node


def read_history(node: Node, findings: Findings) -> HistorySetting:
    """HISTORY on one line or as a block, read as the table of H6 says."""
    block = tuple(child for child in node.children if child.key)
    if node.children and node.value and node.block is None:
        problem = "HISTORY has a value and a block, and the block is read; keep one of the two"
        findings.add("W333", node.line, node.value_column, problem)
    if node.children:
        return _history_block(node, block, findings)
    written = node.value
    read = read_line(written)
    if read is None:
        said = f"{quoted(written)} is not recognised" if written else "HISTORY is empty"
        findings.add("W330", node.line, node.value_column, f"{said}, so {_FALLBACK}; {_LINE_FORMS}")
    elif read == LastN(0):
        problem = f"{quoted(written)} sends no messages; write none, which says so"
        findings.add("I332", node.line, node.value_column, problem)
    return HistorySetting(written, findings.file, node.line, read, "line", node.text_column)


def _history_block(node: Node, block: tuple[Node, ...], findings: Findings) -> HistorySetting:
    last: dict[str, Node] = {}
    for child in block:
        name = child.key.lower()
        if name not in ("mode", "count"):
            unknown_keys((child,), ("mode", "count"), "a HISTORY block", findings)
            continue
        if name in last:
            problem = f"{name} stands twice in this block and the last one is read; keep one of the two"
            findings.add("W333", child.line, child.text_column, problem)
        last[name] = child
    mode, count = last.get("mode"), last.get("count")
    written = ", ".join(f"{name} {last[name].value}" for name in ("mode", "count") if name in last)
    read = _block_read(node, mode, count, findings)
    return HistorySetting(written, findings.file, node.line, read, "block", node.text_column)


def _block_read(node: Node, mode: Node | None, count: Node | None, findings: Findings) -> Read:
    if mode is None:
        findings.add("E330", node.line, node.text_column, f"this HISTORY block has no mode; {_MODES}")
        return None
    word = bare(mode.value)
    for name in NAMED:
        if word == name:
            return name
    if word != "last_n":
        findings.add("E330", mode.line, mode.value_column, f"{quoted(mode.value)} is no mode of HISTORY; {_MODES}")
        return None
    if count is None or not bare(count.value):
        place = count or mode
        findings.add("E331", place.line, place.text_column, "mode last_n needs a count; write count: 5 below it")
        return None
    digits = bare(count.value)
    if re.fullmatch(r"[0-9]+", digits, re.ASCII) and whole(digits) > 0:
        return LastN(whole(digits))
    problem = f"count {quoted(count.value)} is not usable, so {_FALLBACK}"
    advice = "write a count of 1 or more; to send nothing write HISTORY: none"
    findings.add("W331", count.line, count.value_column, f"{problem}; {advice}")
    return None


def _judge_history(
    entry: Node, history: HistorySetting | None, has_summary: bool, has_pass: bool, findings: Findings
) -> None:
    """What HISTORY means together with the rest of the route."""
    if history is None:
        findings.add("I330", entry.line, entry.column, f"this route has no HISTORY, so {_FALLBACK}; {_LINE_FORMS}")
        return
    if history.read == "summary_only" and not has_summary:
        problem = "summary_only without a SUMMARY tells the target nothing; write SUMMARY, or HISTORY: none"
        findings.add("W332", history.line, history.column, problem)
    if (history.read == "none" or isinstance(history.read, LastN)) and not (has_pass or has_summary):
        problem = "few or no messages go along, and neither PASS nor SUMMARY; write one of them with what is needed"
        findings.add("I331", history.line, history.column, problem)
    if history.read == "full":
        problem = "full hands on everything the customer said; review what is personal, or write last_5 with PASS"
        findings.add("I333", history.line, history.column, problem)


def _judge_pass(passes: tuple[Word, ...], declared: frozenset[str], findings: Findings) -> None:
    """W340 for each field that the caller does not declare; the runtime's own names are always there."""
    for word in passes:
        root = word.text.split(".")[0].split("[")[0]
        if word.text in declared or root in declared or root in _RUNTIME_NAMES or root.startswith("_"):
            continue
        problem = f"{quoted(word.text)} is passed but this agent does not declare it; add it to GATHER or MEMORY"
        findings.add("W340", word.line, word.column, problem)


def _returns(by_name: dict[str, Node], findings: Findings) -> bool:
    """EXPECT_RETURN, or RETURN where that is not written."""
    node = by_name.get("EXPECT_RETURN") or by_name.get("RETURN")
    return node is not None and truth_of(node, findings)


def _on_return(node: Node | None, handlers: Mapping[str, OnReturn], returns: bool, findings: Findings) -> OnReturn:
    if node is None:
        return OnReturn()
    if not returns:
        problem = "ON_RETURN is not executed, because the route does not return; write RETURN: true"
        findings.add("I350", node.line, node.text_column, problem)
    if node.value and not node.value.startswith("{"):
        return _action_or_handler(node, unquoted(node.value), handlers, findings, OnReturn(line=node.line))
    keys = node.children
    unknown_keys(keys, _ON_RETURN_KEYS, "ON_RETURN", findings)
    not_executed(keys, frozenset({"resume_with"}), "ON_RETURN", findings)
    by_name = {one.key.lower(): one for one in keys}
    action, handler = by_name.get("action"), by_name.get("handler")
    if action and handler:
        problem = "ON_RETURN has an action and a handler; keep one of the two"
        findings.add("E346", handler.line, handler.text_column, problem)
    mapping = pairs_of(by_name["map"], findings) if "map" in by_name else None
    found = OnReturn(
        mapping=mapping or None,
        assignments=assignments_of(by_name["set"], findings) if "set" in by_name else (),
        line=node.line,
    )
    chosen = action or handler
    return _action_or_handler(chosen, unquoted(chosen.value), handlers, findings, found) if chosen else found


def _action_or_handler(
    node: Node, word: str, handlers: Mapping[str, OnReturn], findings: Findings, found: OnReturn
) -> OnReturn:
    """`found` with the action that `word` is, or with what the handler of that name does."""
    if word.lower() == "continue":
        return OnReturn("continue", "", found.mapping, found.assignments, None, (), found.line)
    if word.lower() == "resume_intent":
        return OnReturn("resume_intent", "", found.mapping, found.assignments, None, (), found.line)
    handler = handlers.get(word)
    if handler is not None:
        assignments = (*found.assignments, *handler.assignments)
        return OnReturn(handler.action, word, found.mapping, assignments, handler.respond, handler.clear, found.line)
    advice = "write continue, resume_intent or the name of a RETURN_HANDLERS entry"
    findings.add("W345", node.line, node.value_column, f"{quoted(word)} is nothing ON_RETURN can do; {advice}")
    return found


def read_handlers(section: Section, findings: Findings) -> dict[str, OnReturn]:
    """The RETURN_HANDLERS by name. A second one of the same name is E346."""
    handlers: dict[str, OnReturn] = {}
    for child in section.node.children:
        keys = child.children
        unknown_keys(keys, ("RESPOND", "CLEAR", "CONTINUE", "RESUME_INTENT", "SET"), "a return handler", findings)
        by_name = {node.key.upper(): node for node in keys}
        name = child.key or child.text
        if name in handlers:
            problem = f"the handler {quoted(name)} stands twice; give one of them another name"
            findings.add("E346", child.line, child.text_column, problem)
            continue
        respond = template_of(by_name["RESPOND"], findings) if "RESPOND" in by_name else None
        goes_on = "CONTINUE" in by_name and truth_of(by_name["CONTINUE"], findings)
        resumes = "RESUME_INTENT" in by_name and truth_of(by_name["RESUME_INTENT"], findings)
        handlers[name] = OnReturn(
            action="resume_intent" if resumes else "continue" if goes_on else "",
            handler=name,
            assignments=assignments_of(by_name["SET"], findings) if "SET" in by_name else (),
            respond=respond,
            clear=tuple(word.text for word in words_of(by_name["CLEAR"], findings)) if "CLEAR" in by_name else (),
            line=child.line,
        )
    return handlers


def _on_failure(node: Node, findings: Findings) -> OnFailure:
    written = text_of(node).strip() if node.block is not None or not node.value else node.value
    word, _, rest = written.partition(" ")
    match word.rstrip(":").lower():
        case "continue" if not rest.strip():
            return OnFailure()
        case "escalate":
            return OnFailure("escalate")
        case "respond" if rest.strip():
            return OnFailure("respond", unquoted(rest.strip()))
    inner = next((child for child in node.children if child.key.upper() == "RESPOND"), None)
    if inner is not None:
        return OnFailure("respond", template_of(inner, findings))
    problem = f'{quoted(written)} is nothing ON_FAILURE can do; write CONTINUE, ESCALATE or RESPOND "text"'
    findings.add("E346", node.line, node.value_column, problem)
    return OnFailure()


def _remote(by_name: dict[str, Node], findings: Findings) -> Remote | None:
    keys = dict(by_name)
    block = by_name.get("REMOTE")
    if block is not None:
        unknown_keys(block.children, ("location", "endpoint", "protocol"), "REMOTE", findings)
        keys.update({child.key.upper(): child for child in block.children})
    location = _plain_value(keys.get("LOCATION"))
    endpoint = _plain_value(keys.get("ENDPOINT"))
    if location.lower() != "remote" and not endpoint:
        return None
    protocol = keys.get("PROTOCOL")
    name = _plain_value(protocol).lower() or "rest"
    place = keys.get("ENDPOINT") or keys.get("LOCATION") or block
    if not endpoint and place is not None:
        problem = "a remote target needs its address; write ENDPOINT: https://..."
        findings.add("E346", place.line, place.text_column, problem)
    if protocol is not None and name == "a2a":
        findings.add("I350", protocol.line, protocol.value_column, "PROTOCOL a2a is not executed; write rest")
    elif protocol is not None and name != "rest":
        findings.add("E346", protocol.line, protocol.value_column, f"{quoted(name)} is no protocol; write rest")
    return Remote(endpoint, name, location)


def _plain_value(node: Node | None) -> str:
    return unquoted(node.value) if node is not None else ""
