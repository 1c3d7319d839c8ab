"""TOOLS: what an agent may call, as it declares it."""

from __future__ import annotations

import re
from typing import Final

from runtime.abl.diagnostics import Findings, quoted
from runtime.abl.entries import split_at_commas, value_as
from runtime.abl.lines import Node, text_of, unquoted
from runtime.abl.parser import Section
from runtime.abl.project import Parameter, ToolDeclaration

_SIGNATURE = re.compile(r"(?P<name>[^\W\d][\w.\-]*)\s*(?P<rest>\(.*)?\Z", re.DOTALL)
_EXECUTED: Final = frozenset(
    {"name", "description", "type", "endpoint", "url", "method", "timeout", "parameters", "params", "headers"}
)
_DURATION = re.compile(r"(?P<count>\d{1,9}(?:\.\d{1,6})?)\s*(?P<unit>ms|s|m|seconds?|minutes?)?\Z")


def read_tools(sections: tuple[Section, ...], findings: Findings) -> tuple[ToolDeclaration, ...]:
    """The declared tools of all TOOLS sections. A damaged signature and a second tool of one name are E346."""
    tools: dict[str, ToolDeclaration] = {}
    for section in sections:
        for node in section.node.children:
            if node.text.upper().startswith("FROM "):
                findings.add("I350", node.line, node.column, "tools of another file are parsed but not executed")
                continue
            tool = _tool(node, findings)
            if tool is None:
                continue
            if tool.name in tools:
                problem = f"the tool {quoted(tool.name)} stands twice (first in line {tools[tool.name].line})"
                findings.add("E346", node.line, node.column, f"{problem}; give one of them another name")
                continue
            tools[tool.name] = tool
    return tuple(tools.values())


def _tool(node: Node, findings: Findings) -> ToolDeclaration | None:
    listed = node.bullet and node.key.lower() == "name"
    head = unquoted(node.value) if listed else node.text.removesuffix(":").rstrip()
    if not listed and node.key and "(" not in node.key and node.value and "(" not in node.text.split(":")[0]:
        head = node.key
    found = _SIGNATURE.match(head)
    end = _end_of_parameters(found["rest"]) if found and found["rest"] else 0
    if found is None or end is None:
        problem = f"{quoted(node.written)} is no tool; write name(parameter: type) -> type"
        findings.add("E346", node.line, node.column, problem)
        return None
    rest = found["rest"] or ""
    tail = rest[end:].strip()
    by_name = {key.key.lower(): key for key in node.children if key.key}
    block = by_name.get("parameters") or by_name.get("params")
    parameters = _parameters(rest[1 : end - 1], node, findings) if rest else ()
    for key in node.children:
        if key.key and key.key.lower() not in _EXECUTED:
            problem = f"{quoted(key.key)} of the tool {quoted(found['name'])} is parsed but not executed"
            findings.add("I350", key.line, key.column, problem)
    return ToolDeclaration(
        name=found["name"],
        parameters=_with_block(parameters, block),
        returns=tail.removeprefix("->").strip(),
        description=_text(by_name, "description"),
        type=_text(by_name, "type").lower(),
        endpoint=_text(by_name, "endpoint") or _text(by_name, "url"),
        method=_text(by_name, "method").upper(),
        timeout=_seconds(by_name.get("timeout"), findings),
        properties={name: text_of(key) for name, key in by_name.items()},
        file=findings.file,
        line=node.line,
    )


def _end_of_parameters(rest: str) -> int | None:
    """The place after the parenthesis that closes the parameters; None if there is none or text follows."""
    depth = 0
    for place, sign in enumerate(rest):
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if depth == 0:
            tail = rest[place + 1 :].strip()
            return place + 1 if not tail or tail.startswith("->") else None
    return None


def _parameters(inner: str, node: Node, findings: Findings) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    for part, _ in split_at_commas(inner, 0):
        if not part:
            continue
        declared, equals, default = part.partition("=")
        name, _, type_name = declared.partition(":")
        if not re.fullmatch(r"[^\W\d]\w*\??", name.strip()):
            problem = f"{quoted(part)} is no parameter; write name: type, or name: type = default"
            findings.add("E346", node.line, node.column, problem)
            continue
        optional = bool(equals) or name.strip().endswith("?") or type_name.strip().endswith("?")
        type_text = type_name.strip().removesuffix("?") or "string"
        value = value_as(default, type_text.lower()) if equals else None
        parameters.append(Parameter(name.strip().removesuffix("?"), type_text, not optional, value, ""))
    return tuple(parameters)


def _with_block(parameters: tuple[Parameter, ...], block: Node | None) -> tuple[Parameter, ...]:
    """The parameters with what a `parameters:` block says of them; names that only the block has come after."""
    known = {one.name: one for one in parameters}
    for node in block.children if block is not None else ():
        listed = node.bullet and node.key.lower() == "name"
        name = unquoted(node.value) if listed else (node.key or node.text)
        by_name = {key.key.lower(): key for key in node.children if key.key}
        before = known.get(name)
        short = "" if listed else unquoted(node.value)
        type_name = _text(by_name, "type") or short or (before.type if before else "string")
        default = value_as(_text(by_name, "default"), type_name.lower()) if "default" in by_name else None
        required = before.required if before else "default" not in by_name
        if "required" in by_name:
            required = by_name["required"].value == "true"
        description = _text(by_name, "description") or (before.description if before else "")
        known[name] = Parameter(name, type_name, required, default, description)
    return tuple(known.values())


def _text(by_name: dict[str, Node], name: str) -> str:
    return text_of(by_name[name]) if name in by_name else ""


def _seconds(node: Node | None, findings: Findings) -> float | None:
    """`TIMEOUT: 5000` is milliseconds, as the language counts; `5s` and `2m` name their unit."""
    if node is None:
        return None
    found = _DURATION.match(unquoted(node.value).lower())
    if found is None:
        findings.add("W345", node.line, node.value_column, f"{quoted(node.value)} is no time; write 5s")
        return None
    count, unit = float(found["count"]), found["unit"] or ("ms" if float(found["count"]) >= 1000 else "s")
    return count / 1000 if unit == "ms" else count * 60 if unit.startswith("m") else count
