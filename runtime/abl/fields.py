"""GATHER and MEMORY: what an agent asks for and what it keeps."""

from __future__ import annotations

import re
from typing import Final

from runtime.abl.diagnostics import Findings, quoted
from runtime.abl.entries import (
    keys_of,
    named_line,
    not_executed,
    split_at_commas,
    template_of,
    truth_of,
    unknown_keys,
    value_as,
    words_of,
)
from runtime.abl.keywords import SECTIONS
from runtime.abl.lines import Node, text_of, unquoted
from runtime.abl.parser import Section
from runtime.abl.patterns import NotAPattern, compile_pattern
from runtime.abl.project import Field, Rule, Variable

TYPES: Final = frozenset(
    {
        "string", "text", "free_text", "number", "integer", "float", "currency", "boolean", "date", "datetime",
        "email", "phone", "enum", "pattern", "location",
    }
)  # fmt: skip

_FIELD_KEYS: Final = (
    "PROMPT", "TYPE", "REQUIRED", "DEFAULT", "VALIDATE", "RETRY_PROMPT", "OPTIONS", "SENSITIVE", "DESCRIPTION",
    "VALIDATION", "VALIDATION_PROCESS", "MAX_RETRIES", "ENTITY_REF", "INFER", "INFER_CONFIDENCE", "INFER_CONFIRM",
    "PROMPT_MODE", "RANGE", "LIST", "PREFERENCES", "ACTIVATION", "DEPENDS_ON", "SATISFIED_BY", "SENSITIVE_DISPLAY",
    "MASK_CONFIG", "PII_TYPE", "PII_PATTERN_REF", "TRANSIENT", "EXTRACTION_PATTERN", "EXTRACTION_GROUP",
    "EXTRACTION_HINTS", "HINTS", "STRATEGY", "SEMANTICS", "MESSAGE_KEY",
)  # fmt: skip
_FIELD_KEPT: Final = frozenset(key.lower() for key in _FIELD_KEYS[10:])
_VARIABLE_KEYS: Final = ("NAME", "TYPE", "DESCRIPTION", "INITIAL", "INITIAL_VALUE", "RESET", "SENSITIVE")
_RULE = re.compile(r"(min|max|enum|email|pattern)\s*\(", re.IGNORECASE)
_ENUM = re.compile(r"enum\s*[\[(](?P<options>.*)[\])]\Z", re.IGNORECASE | re.DOTALL)


def read_fields(sections: tuple[Section, ...], findings: Findings) -> tuple[Field, ...]:
    """The fields of all GATHER sections, in file order; of two with one name the last is read (W345)."""
    fields: dict[str, Field] = {}
    for section in sections:
        for node in _field_nodes(section.node, findings):
            field = _field(node, findings)
            if field is None:
                continue
            if field.name in fields:
                problem = f"the field {quoted(field.name)} stands twice and the last one is read; keep one of the two"
                findings.add("W345", node.line, node.text_column, problem)
            fields[field.name] = field
    return tuple(fields.values())


def _field_nodes(section: Node, findings: Findings) -> list[Node]:
    nodes: list[Node] = []
    for child in section.children:
        name = child.key
        if name.upper() == "FIELDS" and not child.value:
            nodes.extend(child.children)
        elif name.upper() == "STRATEGY" and child.value:
            not_executed((child,), frozenset({"strategy"}), "GATHER", findings)
        elif name in SECTIONS and not child.bullet:
            problem = f"{name} is indented, so it is a part of GATHER and no section; write it at the margin"
            findings.add("W345", child.line, child.column, problem)
        else:
            nodes.append(child)
    return nodes


def _field(node: Node, findings: Findings) -> Field | None:
    """One field: `name:` and its keys, `- name`, `- name: x`, or `name: type`."""
    by_name = {key.key.lower(): key for key in node.children if key.key}
    name, short = node.key or node.text, unquoted(node.value) if node.block is None else ""
    if node.bullet and node.key.lower() == "name":
        name, short = short, ""
    if not re.fullmatch(r"[^\W\d][\w.\-]*", name):
        problem = f"{quoted(node.written)} is no field; write its name and a colon, and its keys below it"
        findings.add("E346", node.line, node.column, problem)
        return None
    where = f"the field {quoted(name)}"
    unknown_keys(node.children, _FIELD_KEYS, where, findings)
    not_executed(node.children, _FIELD_KEPT, where, findings)
    type_name, options = _type(by_name.get("type"), short, where, findings)
    if "options" in by_name:
        options = tuple(word.text for word in words_of(by_name["options"], findings))
    rules = _rules(by_name["validate"], where, findings) if "validate" in by_name else ()
    listed = next((rule.arguments for rule in rules if rule.kind == "enum"), ())
    required = truth_of(by_name["required"], findings) if "required" in by_name else short != "optional"
    return Field(
        name=name,
        type=type_name,
        prompt=template_of(by_name["prompt"], findings) if "prompt" in by_name else "",
        required=required,
        default=value_as(text_of(by_name["default"]), type_name) if "default" in by_name else None,
        sensitive="sensitive" in by_name and truth_of(by_name["sensitive"], findings, yes=True),
        options=options or listed,
        description=text_of(by_name["description"]) if "description" in by_name else "",
        rules=rules,
        retry_prompt=template_of(by_name["retry_prompt"], findings) if "retry_prompt" in by_name else "",
        file=findings.file,
        line=node.line,
    )


def _type(node: Node | None, short: str, where: str, findings: Findings) -> tuple[str, tuple[str, ...]]:
    """The type in lower case, and the options that `enum(a, b)` lists."""
    written = unquoted(node.value) if node is not None else short
    listed = _ENUM.match(written)
    if listed:
        return "enum", tuple(unquoted(part) for part, _ in split_at_commas(listed["options"], 0) if part)
    name = written.lower()
    if name in TYPES:
        return name, ()
    if node is not None:
        problem = f"the type {quoted(written)} of {where} is read as string; write one of {', '.join(sorted(TYPES))}"
        findings.add("I350", node.line, node.value_column, problem)
    return "string", ()


def _rules(node: Node, where: str, findings: Findings) -> tuple[Rule, ...]:
    """`min(1) max(9)` as rules; prose is kept in the file and reported."""
    text = text_of(node)
    rules: list[Rule] = []
    at = 0
    while (found := _RULE.search(text, at)) is not None:
        kind = found[1].lower()
        end = _closing(text, found.end())
        inner = text[found.end() : end]
        arguments = (inner.strip(),) if kind == "pattern" else tuple(part for part, _ in split_at_commas(inner, 0))
        arguments = tuple(unquoted(one) for one in arguments if one)
        at = end + 1
        rule = _checked(kind, arguments, node, findings)
        if rule is not None:
            rules.append(rule)
    if not rules and text.strip() and not _RULE.search(text):
        findings.add("I350", node.line, node.value_column, f"the check of {where} is prose and is not executed")
    return tuple(rules)


def _checked(kind: str, arguments: tuple[str, ...], node: Node, findings: Findings) -> Rule | None:
    problem = ""
    if kind in ("min", "max") and not (len(arguments) == 1 and re.fullmatch(r"-?\d+(\.\d+)?", arguments[0])):
        problem = f"{kind}() takes one number; write {kind}(1)"
    elif kind == "enum" and not arguments:
        problem = "enum() needs values; write enum(small, large)"
    elif kind == "pattern":
        try:
            compile_pattern(arguments[0] if arguments else "")
        except NotAPattern as refused:
            problem = f"the pattern cannot be used: {refused}"
    if problem:
        findings.add("E346", node.line, node.value_column, problem)
        return None
    match kind:
        case "min" | "max" | "enum" | "email" | "pattern":
            return Rule(kind, arguments)
    return None


def _closing(text: str, start: int) -> int:
    """The place of the parenthesis that closes the one before `start`; the end of the text if none does."""
    depth = 1
    for place in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place
    return len(text)


def read_memory(sections: tuple[Section, ...], findings: Findings) -> tuple[tuple[Variable, ...], frozenset[str]]:
    """The session variables, and all names that MEMORY declares, those it keeps elsewhere too.

    A name that stands twice is E346. What is kept beyond the session is I350.
    """
    variables: dict[str, Variable] = {}
    names: set[str] = set()
    for section in sections:
        for child in section.node.children:
            part = child.key.lower()
            if part == "session" and not child.value:
                for item in child.children:
                    _add_variable(item, variables, findings)
            elif part in ("persistent", "remember", "recall", "reads", "writes", "project", "user"):
                not_executed((child,), frozenset({part}), "MEMORY", findings)
                names.update(_persistent_names(child))
            else:
                _add_variable(child, variables, findings)
    return tuple(variables.values()), frozenset({*names, *variables})


def _add_variable(item: Node, variables: dict[str, Variable], findings: Findings) -> None:
    variable = _variable(item, findings)
    if variable is None:
        problem = f"{quoted(item.written)} is no variable; write - name, and TYPE and INITIAL below it"
        findings.add("E346", item.line, item.column, problem)
    elif variable.name in variables:
        first = variables[variable.name].line
        problem = f"the variable {quoted(variable.name)} stands twice (first in line {first}); keep one of the two"
        findings.add("E346", item.line, item.text_column, problem)
    else:
        variables[variable.name] = variable


def _variable(item: Node, findings: Findings) -> Variable | None:
    """`- name`, `- name: x` with keys, or `name: type`."""
    keys = keys_of(item)
    named = item.bullet and item.key.lower() == "name"
    name = unquoted(item.value) if named else (item.key or item.text)
    if not re.fullmatch(r"[^\W\d][\w.\-]*", name):
        return None
    below = keys[1:] if item.bullet and item.key else item.children
    by_name = {key.key.lower(): key for key in below if key.key}
    where = f"the variable {quoted(name)}"
    unknown_keys(below, _VARIABLE_KEYS, where, findings)
    not_executed(below, frozenset({"reset", "sensitive"}), where, findings)
    short = "" if named else unquoted(item.value)
    type_name = unquoted(by_name["type"].value).lower() if "type" in by_name else short.lower()
    initial = by_name.get("initial") or by_name.get("initial_value")
    description = by_name.get("description")
    return Variable(
        name=name,
        type=type_name,
        description=text_of(description) if description else "",
        initial=value_as(text_of(initial), type_name) if initial else None,
        line=item.line,
    )


def _persistent_names(node: Node) -> set[str]:
    names = {child.key for child in node.children if child.key} | {child.text for child in node.children}
    for child in node.children:
        line = named_line(child.text)
        if line is not None and line[0].lower() in ("name", "path"):
            names.add(unquoted(line[1]))
    return names | {name.split(".")[0] for name in names}
