"""One file to one frozen agent, with everything there is to say about it."""

from __future__ import annotations

import re
from typing import Final

from runtime.abl.behaviour import (
    Templates,
    read_completions,
    read_execution,
    read_identity,
    read_intents,
    read_on_start,
    read_role,
)
from runtime.abl.diagnostics import Findings, quoted
from runtime.abl.entries import texts_of, words_of
from runtime.abl.fields import read_fields, read_memory
from runtime.abl.keywords import DOCUMENTS, KEPT
from runtime.abl.lines import Node, split_lines, text_of, unquoted
from runtime.abl.parser import Document, Section, read_document
from runtime.abl.project import AgentSource, KeptSection, OnReturn, Route
from runtime.abl.routes import Surroundings, read_handlers, read_routes
from runtime.abl.tools import read_tools
from runtime.values.diagnostic import Diagnostic

LARGEST: Final = 1_000_000
"""Characters of one file."""

MOST_LINES: Final = 20_000

_SET_LINE = re.compile(r"(?:SET\s*:\s*)?([^\W\d][\w.]*)\s*=(?!=)")


def compile_text(text: str, file: str) -> tuple[AgentSource | None, list[Diagnostic]]:
    """The agent that `text` declares, and all diagnostics in file order; it never raises for any text.

    The agent is None if the text declares none (a behavior profile, no name). It may be incomplete if there are
    errors: a project with errors does not run. Targets are checked where the whole project is known.
    """
    if len(text) > LARGEST:
        return None, _too_large(file, f"more than {LARGEST} characters; split the file")
    lines = split_lines(text)
    if len(lines) > MOST_LINES:
        return None, _too_large(file, f"more than {MOST_LINES} lines; split the file")
    findings = Findings(file, lines)
    document = read_document(file, lines, findings)
    agent = _agent(document, findings)
    return agent, findings.sorted()


def _too_large(file: str, problem: str) -> list[Diagnostic]:
    findings = Findings(file)
    findings.add("E346", 1, 1, problem)
    return findings.sorted()


def _agent(document: Document, findings: Findings) -> AgentSource | None:
    head = document.first(*DOCUMENTS)
    kept = _kept(document, findings)
    if head is None:
        tools = document.first("TOOLS")
        if tools is None or document.sections[0] is not tools:
            findings.add("E346", 1, 1, "no agent is declared; write AGENT: Name or SUPERVISOR: Name at the top")
        return None
    if head.keyword == "BEHAVIOR_PROFILE":
        return None
    name = head.node.value
    if not name:
        problem = f"{head.keyword} has no name; write {head.keyword}: Agent_Name"
        findings.add("E346", head.node.line, head.node.column, problem)
        return None
    if document.first("GOAL") is None:
        problem = f'{quoted(name)} has no GOAL; write GOAL: "what it is there for"'
        findings.add("E346", head.node.line, head.node.column, problem)
    return _compiled(document, head, name, kept, findings)


def _compiled(
    document: Document, head: Section, name: str, kept: tuple[KeptSection, ...], findings: Findings
) -> AgentSource:
    templates = Templates(document.all("TEMPLATES", "TEMPLATE"))
    fields = read_fields(document.all("GATHER"), findings)
    memory, remembered = read_memory(document.all("MEMORY"), findings)
    persona, limits = read_identity(document.first("IDENTITY"), findings)
    role = read_role(document.first("BEHAVIOR"), findings)
    declared = frozenset({field.name for field in fields}) | remembered | _assigned(document)
    routes = _routes(document, declared, findings)
    handoff = document.first("HANDOFF")
    if role == "router" and handoff is None:
        behaviour = document.first("BEHAVIOR") or head
        problem = "a router only hands off, and this one has no routes; add HANDOFF with - TO: Agent_Name"
        findings.add("E343", behaviour.node.line, behaviour.node.column, problem)
    elif role == "router" and handoff is not None and not routes:
        problem = "a router only hands off, and none of its routes can be read; write - TO: Agent_Name below HANDOFF"
        findings.add("E343", handoff.node.line, handoff.node.column, problem)
    return AgentSource(
        kind="supervisor" if head.keyword == "SUPERVISOR" else "agent",
        name=name,
        file=document.file,
        line=head.node.line,
        goal=_text(document, "GOAL"),
        persona="\n".join(part for part in (_text(document, "PERSONA"), persona) if part),
        instructions="\n\n".join(text_of(section.node) for section in document.all("INSTRUCTIONS")),
        system_prompt=_text(document, "SYSTEM_PROMPT"),
        limitations=(*_limitations(document, findings), *limits),
        description=_text(document, "DESCRIPTION"),
        language=_text(document, "LANGUAGE"),
        role=role,
        intents=read_intents(document.all("INTENTS"), findings),
        memory=memory,
        fields=fields,
        tools=read_tools(document.all("TOOLS"), findings),
        routes=routes,
        completions=read_completions(document.all("COMPLETE"), templates, findings),
        on_start=read_on_start(document.first("ON_START"), templates, findings),
        execution=read_execution(document.first("EXECUTION"), findings),
        kept=kept,
    )


def _kept(document: Document, findings: Findings) -> tuple[KeptSection, ...]:
    """The sections that are not executed, as they were written, each an I350."""
    found: list[KeptSection] = []
    for section in document.sections:
        if section.keyword in KEPT:
            problem = f"{section.keyword} is parsed but not executed"
            findings.add("I350", section.node.line, section.node.column, problem)
            found.append(KeptSection(section.keyword, document.text_of(section), section.node.line))
    return tuple(found)


def _text(document: Document, keyword: str) -> str:
    section = document.first(keyword)
    return text_of(section.node) if section is not None else ""


def _limitations(document: Document, findings: Findings) -> tuple[str, ...]:
    """The last LIMITATIONS section: a second one replaces the first."""
    sections = document.all("LIMITATIONS")
    return texts_of(sections[-1].node, findings) if sections else ()


def _routes(document: Document, declared: frozenset[str], findings: Findings) -> tuple[Route, ...]:
    handlers: dict[str, OnReturn] = {}
    for section in document.all("RETURN_HANDLERS"):
        for name, handler in read_handlers(section, findings).items():
            handlers.setdefault(name, handler)
    sections = document.all("HANDOFF")
    around = Surroundings(declared | _returned(sections), handlers)
    routes: list[Route] = []
    for section in sections:
        routes.extend(read_routes(section, around, len(routes), findings))
    return tuple(routes)


def _assigned(document: Document) -> frozenset[str]:
    """Names that a SET, a tool's result or a FLOW step gives a value anywhere in the file."""
    names: set[str] = set()
    for section in document.all("ON_START", "COMPLETE", "FLOW", "STEPS", "TOOLS", "ON_ERROR", "DELEGATE", "HANDOFF"):
        below_set: list[int] = []
        for node in section.node.walk():
            while below_set and node.indent <= below_set[-1]:
                below_set.pop()
            key = node.key.upper()
            if key == "SET":
                below_set.append(node.indent)
            elif below_set and node.key:
                names.add(node.key)
            if key in ("AS", "STORE_RESULT", "ON_RESULT") and node.value:
                names.add(unquoted(node.value))
            if section.keyword in ("FLOW", "STEPS"):
                names.update(_gathered_in_step(node))
            assigned = _SET_LINE.match(node.text)
            if assigned:
                names.add(assigned[1])
    return frozenset(names | {name.split(".")[0] for name in names})


def _gathered_in_step(node: Node) -> set[str]:
    """The fields of a GATHER inside a FLOW step."""
    if node.key.upper() != "GATHER":
        return set()
    return {unquoted(child.value) if child.key.lower() == "name" else child.key or child.text for child in node.walk()}


def _returned(sections: tuple[Section, ...]) -> frozenset[str]:
    """The caller's names in the ON_RETURN maps of its routes."""
    quiet = Findings("")
    names: set[str] = set()
    for section in sections:
        for node in section.node.walk():
            if node.key.lower() == "map":
                values = [child.value for child in node.children]
                values.extend(word.text.partition(":")[2] for word in words_of(node, quiet) if node.value)
                names.update(unquoted(value.strip(" {}")) for value in values)
    return frozenset(names)
