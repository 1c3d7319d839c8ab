"""How keys, lists and simple values are read inside a section."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from runtime.abl.assignments import Assignment, read_assignment
from runtime.abl.conditions import When, doubtful_calls, read_condition
from runtime.abl.diagnostics import Findings, quoted
from runtime.abl.expressions import NotAnExpression
from runtime.abl.keywords import key_advice
from runtime.abl.lines import Node, text_of, unquoted
from runtime.abl.templates import NotATemplate, read_template
from runtime.values.json import Json, clean_json

_TYPED_LINE = re.compile(r"\s*(?P<name>[^\W\d][\w.\-]*)\s*:\s*(?P<value>.*)\Z")


@dataclass(frozen=True, slots=True)
class Word:
    """One item of a list, with its place."""

    text: str
    line: int
    column: int


def entries(node: Node) -> Iterator[Node]:
    """The lines of a list with their keys: an entry's first key stands on the bullet's line, the rest below."""
    yield from (child for child in node.children if child.bullet)


def keys_of(entry: Node) -> tuple[Node, ...]:
    """The keys of an entry: the one on its bullet's line, then those below it, in file order.

    What is indented deeper than the keys below it, right after the bullet's line, belongs to the bullet's key.
    """
    if not entry.bullet:
        return entry.children
    if not entry.key:
        return entry.children
    own: list[Node] = []
    rest = list(entry.children)
    if not entry.value and len(rest) > 1:
        margin = min(child.indent for child in rest)
        while rest and rest[0].indent > margin:
            own.append(rest.pop(0))
    return (replace(entry, bullet=False, children=tuple(own)), *rest)


def unknown_keys(keys: tuple[Node, ...], known: tuple[str, ...], where: str, findings: Findings) -> None:
    """W345 for each key that is none of `known` (any case)."""
    names = {name.lower() for name in known}
    for node in keys:
        if node.key and node.key.lower() not in names:
            advice = key_advice(node.key, known)
            findings.add("W345", node.line, node.text_column, f"{quoted(node.key)} is not known in {where}; {advice}")


def not_executed(keys: tuple[Node, ...], names: frozenset[str], where: str, findings: Findings) -> None:
    """I350 for each key that is read and kept but not executed; `names` in lower case."""
    for node in keys:
        if node.key.lower() in names:
            problem = f"{quoted(node.key)} in {where} is parsed but not executed"
            findings.add("I350", node.line, node.text_column, problem)


def words_of(node: Node, findings: Findings) -> tuple[Word, ...]:
    """The items of `[a, b]`, of a list of bullets, or one bare word."""
    if not node.value:
        return tuple(_word(child.text, child.line, child.text_column) for child in node.children if child.text)
    if not node.value.startswith("["):
        return tuple(
            _word(part, node.line, node.value_column + start) for part, start in split_at_commas(node.value, 0) if part
        )
    text = node.value
    if not text.endswith("]"):
        text = " ".join([text, *(below.written for below in node.walk())])
    if not text.endswith("]"):
        findings.add("E346", node.line, node.value_column, "this list is never closed; write ] at its end")
    inner = text[1:].removesuffix("]")
    return tuple(_word(part, node.line, node.value_column + start) for part, start in split_at_commas(inner, 1) if part)


def texts_of(node: Node, findings: Findings) -> tuple[str, ...]:
    """Sentences: bullets, or the lines of a block, or the value."""
    if node.block is not None:
        return tuple(line.strip() for line in node.block.splitlines() if line.strip())
    if node.value.startswith("["):
        return tuple(word.text for word in words_of(node, findings))
    if node.value:
        return (unquoted(node.value),)
    return tuple(text_of_bullet(child) for child in node.children)


def text_of_bullet(node: Node) -> str:
    """A bullet's text, which may look like a key, with its pipe block if it has one."""
    if node.block is not None and not node.key:
        return node.block
    return unquoted(node.text)


def pairs_of(node: Node, findings: Findings) -> tuple[tuple[str, str], ...]:
    """`{a: b}` or one `a: b` a line, as texts."""
    if node.value.startswith("{"):
        inner = node.value[1:].removesuffix("}")
        lines = [part for part, _ in split_at_commas(inner, 0) if part]
    else:
        lines = [child.text for child in node.children]
    found: list[tuple[str, str]] = []
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and name.strip() and value.strip():
            found.append((unquoted(name.strip()), unquoted(value.strip())))
        else:
            findings.add("E346", node.line, node.column, f"{quoted(line)} is no pair; write child_field: caller_field")
    return tuple(found)


def assignments_of(node: Node, findings: Findings) -> tuple[Assignment, ...]:
    """The assignments of a SET: on its line, `{a: b}`, or one a line below it, with or without bullets."""
    if node.value.startswith("{"):
        lines = [(part, node) for part, _ in split_at_commas(node.value[1:].removesuffix("}"), 0) if part]
    elif node.value and node.block is None:
        lines = [(node.value, node)]
    else:
        lines = [(_with_block(child), child) for child in node.children]
    found: list[Assignment] = []
    for text, place in lines:
        assignment = read_assignment(text, place.line)
        if assignment is None:
            problem = f"{quoted(text)} assigns nothing; write name = value"
            findings.add("E346", place.line, place.text_column, problem)
        else:
            found.append(assignment)
    return tuple(found)


def when_of(node: Node | None, entry: Node, findings: Findings) -> When:
    """The WHEN of an entry; without one it is `always`. A broken condition is an E346 with its column."""
    if node is None:
        return When("always", "", None, entry.line, entry.column)
    written = node.value if node.value and node.block is None else " ".join(text_of(node).split("\n"))
    try:
        kind, condition = read_condition(written)
    except NotAnExpression as problem:
        column = node.value_column + (problem.at if node.value and node.block is None else 0)
        findings.add("E346", node.line, column, f"{quoted(written)} is no condition: {problem.problem}")
        return When("prose", written, None, node.line, node.value_column)
    if condition is not None:
        for call, in_language in doubtful_calls(condition.expression):
            column = node.value_column + written.find(condition.text) + call.at
            if in_language:
                findings.add("I350", node.line, column, f"{call.name}() is not executed: the condition never holds")
            else:
                advice = "write x contains y" if call.name.upper() == "CONTAINS" else "the condition never holds"
                findings.add("W345", node.line, column, f"{quoted(call.name + '()')} is no function of ABL; {advice}")
    return When(kind, written, condition, node.line, node.value_column)


def template_of(node: Node, findings: Findings) -> str:
    """A text with braces; a block that is never closed is an E346."""
    text = text_of(node)
    try:
        read_template(text)
    except NotATemplate as problem:
        findings.add("E346", node.line, node.value_column, problem.problem)
    return text


def truth_of(node: Node, findings: Findings, *, yes: bool = False) -> bool:
    """Whether the key holds exactly `true` (or `yes`, where that is read); another word is false, and a W345."""
    if node.value == "true" or (yes and node.value == "yes"):
        return True
    if node.value not in ("false", "no" if yes else "false"):
        problem = f"{quoted(node.value)} is read as false; write true or false, in lower case and without quotes"
        findings.add("W345", node.line, node.value_column, problem)
    return False


def whole_number(node: Node, findings: Findings) -> int | None:
    """The whole number that a key holds; anything else is an E346 and None."""
    if re.fullmatch(r"-?[0-9]{1,18}", node.value, re.ASCII):
        return int(node.value)
    findings.add("E346", node.line, node.value_column, f"{quoted(node.key)} needs a whole number; write {node.key}: 1")
    return None


def value_as(written: str, type_name: str) -> Json:
    """The value of a DEFAULT or INITIAL as its type has it: text stays text; without a type it is guessed."""
    text = written.strip()
    if text in ("null", ""):
        return None
    if type_name in ("boolean", "bool"):
        return {"true": True, "false": False}.get(unquoted(text).lower(), unquoted(text))
    shaped = type_name.endswith("[]") or type_name.startswith("{")
    if shaped or type_name in ("number", "integer", "float", "currency", "object", "array", "list", ""):
        guessed = _json(text)
        return unquoted(text) if guessed is None else guessed
    return unquoted(text)


def named_line(text: str) -> tuple[str, str] | None:
    """`name: value` as both, None if it is none."""
    found = _TYPED_LINE.match(text)
    return (found["name"], found["value"]) if found else None


def _json(text: str) -> Json:
    try:
        return clean_json(json.loads(text, parse_constant=lambda _: None))
    except (ValueError, RecursionError):
        return None


def _word(text: str, line: int, column: int) -> Word:
    bare = text.strip()
    plain = bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" else bare
    return Word(plain, line, column)


def _with_block(node: Node) -> str:
    return f'{node.key}: "{node.block}"' if node.block is not None and node.key else node.text


def split_at_commas(text: str, start: int) -> Iterator[tuple[str, int]]:
    """The parts of `text` at commas outside quotes and brackets, with their places (counted from `start`)."""
    begin, depth, quote = 0, 0, ""
    for place, sign in enumerate(text + ","):
        if quote:
            quote = "" if sign == quote and place < len(text) else quote
        elif sign in "\"'" and not text[begin:place].strip():
            quote = sign
        elif sign in "[{(":
            depth += 1
        elif sign in "]})":
            depth -= 1
        if sign == "," and ((depth <= 0 and not quote) or place == len(text)):
            part = text[begin:place]
            yield part.strip(), start + begin + len(part) - len(part.lstrip())
            begin = place + 1
