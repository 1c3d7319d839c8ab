"""The short sections: INTENTS, COMPLETE, ON_START, BEHAVIOR, EXECUTION, IDENTITY, TEMPLATES."""

from __future__ import annotations

import re
from typing import Final, cast

from runtime.abl.diagnostics import Findings, quoted
from runtime.abl.entries import (
    assignments_of,
    entries,
    keys_of,
    not_executed,
    template_of,
    texts_of,
    unknown_keys,
    when_of,
    whole_number,
)
from runtime.abl.lines import Node, text_of, unquoted
from runtime.abl.parser import Section
from runtime.abl.project import Completion, Execution, Intent, OnStart, Role

ROLES: Final = ("router", "orchestrator", "assistant")
_COMPLETE_KEYS: Final = (
    "WHEN", "RESPOND", "SET", "STORE", "TERMINAL", "VOICE", "RICH_CONTENT", "ACTIONS", "FORMATS", "MESSAGE_KEY",
)  # fmt: skip
_COMPLETE_KEPT: Final = frozenset(key.lower() for key in _COMPLETE_KEYS[3:])
_START_KEYS: Final = (
    "SET", "RESPOND", "CALL", "DELEGATE", "BRANCHES", "WITH", "AS", "VOICE", "RICH_CONTENT", "ACTIONS", "FORMATS",
)  # fmt: skip
_START_KEPT: Final = frozenset(key.lower() for key in _START_KEYS[2:])
_BEHAVIOUR_KEYS: Final = ("role", "canRespondDirectly")
_TEMPLATE = re.compile(r"TEMPLATE\(\s*([\w.\-]+)\s*\)\Z")
_INTENT = re.compile(r"(?P<name>[^:]+?)\s*(?::\s*(?P<description>.*))?\Z", re.DOTALL)


class Templates:
    """The texts that `TEMPLATE(name)` stands for in a RESPOND."""

    def __init__(self, sections: tuple[Section, ...]) -> None:
        self._texts: dict[str, str] = {}
        for section in sections:
            if section.keyword == "TEMPLATE":
                self._texts.setdefault(section.name, _template_text(section.node))
            else:
                for child in section.node.children:
                    self._texts.setdefault(child.key or child.text, _template_text(child))

    def respond(self, node: Node, findings: Findings) -> str | None:
        """The text of a RESPOND, `TEMPLATE(name)` replaced; None for `null`. An unknown name is a W345."""
        if node.value == "null":
            return None
        named = _TEMPLATE.match(unquoted(node.value))
        if named is None:
            return template_of(node, findings)
        if named[1] not in self._texts:
            problem = f"{quoted(named[1])} is no template of this file; write a text, or add it to TEMPLATES"
            findings.add("W345", node.line, node.value_column, problem)
            return None
        return self._texts[named[1]]


def _template_text(node: Node) -> str:
    default = next((child for child in node.children if child.key.upper() == "DEFAULT"), None)
    return text_of(default or node)


def read_intents(sections: tuple[Section, ...], findings: Findings) -> tuple[Intent, ...]:
    """The intents of all INTENTS sections; of two with one name the first counts (W345)."""
    intents: dict[str, Intent] = {}
    for section in sections:
        for node in section.node.children:
            if node.key.upper() == "LEXICAL_FALLBACK":
                not_executed((node,), frozenset({"lexical_fallback"}), "INTENTS", findings)
                continue
            found = _INTENT.match(node.text)
            name = unquoted(found["name"].strip()) if found else ""
            if not name:
                problem = f'{quoted(node.written)} is no intent; write name: "what the customer wants"'
                findings.add("E346", node.line, node.column, problem)
                continue
            if name in intents:
                problem = f"the intent {quoted(name)} stands twice and the first one counts; keep one of the two"
                findings.add("W345", node.line, node.text_column, problem)
                continue
            description = node.block or unquoted((found["description"] if found else "") or "")
            inner = next((child for child in node.children if child.key.lower() == "description"), None)
            intents[name] = Intent(name, text_of(inner) if inner else description, node.line)
    return tuple(intents.values())


def read_completions(sections: tuple[Section, ...], templates: Templates, findings: Findings) -> tuple[Completion, ...]:
    """The COMPLETE entries in file order. WHEN is a condition there: prose is E346."""
    found: list[Completion] = []
    for section in sections:
        for child in section.node.children:
            if not child.bullet:
                problem = f"{quoted(child.written)} is no entry of COMPLETE; begin each with - WHEN:"
                findings.add("E346", child.line, child.column, problem)
        found.extend(_completion(entry, templates, findings) for entry in entries(section.node))
    return tuple(found)


def _completion(entry: Node, templates: Templates, findings: Findings) -> Completion:
    keys = keys_of(entry)
    unknown_keys(keys, _COMPLETE_KEYS, "a COMPLETE entry", findings)
    not_executed(keys, _COMPLETE_KEPT, "a COMPLETE entry", findings)
    by_name = {node.key.upper(): node for node in keys}
    before = len(findings)
    when = when_of(by_name.get("WHEN"), entry, findings)
    if when.kind == "prose" and len(findings) == before:
        problem = f"COMPLETE needs a condition and {quoted(when.text)} reads as prose; write field IS SET"
        findings.add("E346", when.line, when.column, problem)
    return Completion(
        when=when,
        respond=templates.respond(by_name["RESPOND"], findings) if "RESPOND" in by_name else None,
        assignments=assignments_of(by_name["SET"], findings) if "SET" in by_name else (),
        file=findings.file,
        line=entry.line,
    )


def read_on_start(section: Section | None, templates: Templates, findings: Findings) -> OnStart:
    """SET and RESPOND of ON_START, with or without bullets; the rest is I350."""
    if section is None:
        return OnStart()
    keys = tuple(key for child in section.node.children for key in (keys_of(child) if child.bullet else (child,)))
    unknown_keys(keys, _START_KEYS, "ON_START", findings)
    not_executed(keys, _START_KEPT, "ON_START", findings)
    assignments = tuple(one for key in keys if key.key.upper() == "SET" for one in assignments_of(key, findings))
    responds = [templates.respond(key, findings) for key in keys if key.key.upper() == "RESPOND"]
    said = [text for text in responds if text is not None]
    return OnStart(assignments, "\n".join(said) if said else None, section.node.line)


def read_role(section: Section | None, findings: Findings) -> Role | None:
    """The role that BEHAVIOR names; None if it names none. An unknown word is a W345."""
    if section is None:
        return None
    unknown_keys(section.node.children, _BEHAVIOUR_KEYS, "BEHAVIOR", findings)
    not_executed(section.node.children, frozenset({"canresponddirectly"}), "BEHAVIOR", findings)
    node = next((child for child in section.node.children if child.key.lower() == "role"), None)
    if node is None:
        return None
    word = unquoted(node.value).lower()
    if word in ROLES:
        return cast(Role, word)
    problem = f"{quoted(node.value)} is no role; write one of {', '.join(ROLES)}"
    findings.add("W345", node.line, node.value_column, problem)
    return None


def read_execution(section: Section | None, findings: Findings) -> Execution:
    """The model and the most tokens of an answer; the other keys of EXECUTION are I350."""
    if section is None:
        return Execution()
    by_name = {child.key.lower(): child for child in section.node.children if child.key}
    not_executed(section.node.children, frozenset(by_name) - {"model", "max_tokens"}, "EXECUTION", findings)
    most = by_name.get("max_tokens")
    model = unquoted(by_name["model"].value) if "model" in by_name else ""
    return Execution(model, whole_number(most, findings) if most else None)


def read_identity(section: Section | None, findings: Findings) -> tuple[str, tuple[str, ...]]:
    """IDENTITY as a persona (role, persona, expertise) and limitations."""
    if section is None:
        return "", ()
    known = ("role", "persona", "expertise", "limitations")
    unknown_keys(section.node.children, known, "IDENTITY", findings)
    by_name = {child.key.lower(): child for child in section.node.children}
    persona = [text_of(by_name[name]) for name in ("role", "persona") if name in by_name]
    if "expertise" in by_name:
        persona.append("Expertise: " + ", ".join(texts_of(by_name["expertise"], findings)))
    limits = texts_of(by_name["limitations"], findings) if "limitations" in by_name else ()
    return "\n".join(persona), limits
