"""A file to its sections: which keyword, with what below it. Nothing is lost; what cannot be read is reported."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from runtime.abl.diagnostics import Findings, quoted
from runtime.abl.keywords import DOCUMENTS, SECTIONS, SINGLETONS, advice
from runtime.abl.lines import Node, read_nodes

_NAMED = re.compile(r"(?P<keyword>USE\s+BEHAVIOR_PROFILE|TEMPLATE)(?:\s+(?P<name>[^:]+?))?\s*:\s*(?P<value>.*)\Z")
_MARGIN = {"//", "/*", "]", "}", "---"}
_STEPS = ("FLOW", "STEPS")


@dataclass(frozen=True, slots=True)
class Section:
    """A section keyword and its line; `name` is what stands between keyword and colon (`TEMPLATE name:`)."""

    keyword: str
    node: Node
    name: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A file as sections in their order. `lines` is the text, for what is kept as it was written."""

    file: str
    sections: tuple[Section, ...]
    lines: tuple[str, ...]

    def all(self, *keywords: str) -> tuple[Section, ...]:
        """The sections with one of these keywords, in file order."""
        return tuple(section for section in self.sections if section.keyword in keywords)

    def first(self, *keywords: str) -> Section | None:
        """The first section with one of these keywords."""
        return next((section for section in self.sections if section.keyword in keywords), None)

    def text_of(self, section: Section) -> str:
        """The section as it was written, comments and blank lines inside it included."""
        after = (other.node.line for other in self.sections if other.node.line > section.node.line)
        end = min(after, default=len(self.lines) + 1)
        return "\n".join(self.lines[section.node.line - 1 : end - 1]).rstrip()


def read_document(file: str, lines: tuple[str, ...], findings: Findings) -> Document:
    """The sections of a file. A second singleton section is E344 and dropped; unknown keywords are W345."""
    sections: list[Section] = []
    seen: dict[str, int] = {}
    for node in read_nodes(lines, findings):
        section = _section(node)
        if section is None:
            _place_stray(node, sections, findings)
            continue
        slot = _slot(section.keyword)
        if slot in SINGLETONS and slot in seen:
            findings.add(
                "E344",
                node.line,
                node.column,
                f"{section.keyword} stands a second time (first in line {seen[slot]}); keep one of the two",
            )
            continue
        seen.setdefault(slot, node.line)
        sections.append(section)
    return Document(file, tuple(sections), lines)


def _section(node: Node) -> Section | None:
    if node.bullet or node.indent:
        return None
    named = _NAMED.match(node.text)
    if named:
        keyword = named["keyword"].split()[0]
        value = named["value"]
        column = node.column + named.start("value")
        return Section(keyword, replace(node, key=keyword, value=value, value_column=column), named["name"] or "")
    return Section(node.key, node) if node.key in SECTIONS else None


def _slot(keyword: str) -> str:
    """What counts as the same singleton: a file is one agent or one supervisor, and FLOW is STEPS."""
    if keyword in DOCUMENTS:
        return "AGENT"
    return "FLOW" if keyword == "STEPS" else keyword


def _place_stray(node: Node, sections: list[Section], findings: Findings) -> None:
    """An unindented line that is no section: a step of the FLOW above it, an unknown key, or no ABL at all."""
    if node.text in _MARGIN:
        return
    if sections and sections[-1].keyword in _STEPS and node.key and not node.key.isupper():
        flow = sections[-1]
        sections[-1] = replace(flow, node=replace(flow.node, children=(*flow.node.children, node)))
        return
    if node.indent:
        problem = f"{quoted(node.written)} is indented but no section stands above it; write it at the margin"
        findings.add("E346", node.line, node.column, problem)
    elif node.key and not node.bullet:
        findings.add(
            "W345", node.line, node.column, f"{quoted(node.key)} is no section and is not read; {advice(node.key)}"
        )
    else:
        findings.add(
            "E346",
            node.line,
            node.column,
            f"{quoted(node.written)} stands at the margin but is no section; indent it, or write KEYWORD: first",
        )
