"""Text to a tree of lines by indentation: ABL is not YAML, so nothing here knows what a key means.

A line's children are the lines below it that are indented deeper. A value that is a lone `|` takes the deeper lines
below it as text, comments and blank lines included. Outside such a block a line that begins with `#` or `//`, and
everything from `/*` to `*/`, is a comment; a comment never ends a line that holds something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from runtime.abl.diagnostics import Findings
from runtime.values.json import clean

TAB_STOP = 8
DEEPEST = 64
"""How many levels of indentation are followed; a file that goes deeper is damaged or hostile."""

_BREAK = re.compile(r"\r\n|\n|\r")
_KEY = re.compile(r"([^\W\d][\w.\-]*)\s*:(?P<gap>\s*)(?P<value>.*)\Z", re.DOTALL)
_PIPE = re.compile(r"\|[-+]?\Z")


@dataclass(frozen=True, slots=True)
class Node:
    """One line that means something.

    `indent` is its white space in columns (a tab reaches the next multiple of 8), `column` where its text begins,
    from 1, both before a bullet; `text` is without the bullet. `key` and `value` are the text at its first colon if
    what stands before is a name, else empty; `value_column` is where the value begins. `block` is the text of a pipe
    block, None if there is none. `depth` is the number of levels below, itself included.
    """

    line: int
    indent: int
    column: int
    text: str
    bullet: bool
    key: str
    value: str
    value_column: int
    block: str | None
    children: tuple[Node, ...] = ()
    depth: int = 1

    def walk(self) -> Iterator[Node]:
        """All lines below this one, in file order."""
        for child in self.children:
            yield child
            yield from child.walk()

    @property
    def written(self) -> str:
        """The line as it was written, without its indentation."""
        return f"- {self.text}" if self.bullet else self.text

    @property
    def text_column(self) -> int:
        """Where the text begins, after a bullet."""
        return self.value_column - (len(self.text) - len(self.value)) if self.key else self.value_column


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of `text` at CRLF, LF or CR, without a byte-order mark (C70) and made storable (S8)."""
    return tuple(_BREAK.split(clean(text.removeprefix("\ufeff"))))


def read_nodes(lines: tuple[str, ...], findings: Findings) -> tuple[Node, ...]:
    """The unindented lines of a file with everything below them. Indentation that goes too deep is an E346."""
    pending: list[Node] = []
    for flat in reversed(_flat_nodes(lines, findings)):
        children: list[Node] = []
        while pending and pending[-1].indent > flat.indent:
            children.append(pending.pop())
        depth = 1 + max([child.depth for child in children], default=0)
        if depth > DEEPEST:
            findings.add("E346", flat.line, flat.column, f"more than {DEEPEST} levels of indentation; indent less")
            children.clear()
        pending.append(replace(flat, children=tuple(children), depth=depth) if children else flat)
    return tuple(reversed(pending))


def unquoted(text: str) -> str:
    """`text` without one pair of double quotes around it; there are no escapes."""
    return text[1:-1] if len(text) >= 2 and text[0] == text[-1] == '"' else text


def text_of(node: Node) -> str:
    """The text that a key holds: its pipe block, else its value, else the lines below it."""
    if node.block is not None:
        return node.block
    if node.value:
        return unquoted(node.value)
    return "\n".join(unquoted(below.written) for below in node.walk())


def _flat_nodes(lines: tuple[str, ...], findings: Findings) -> list[Node]:
    """Every meaningful line without its children, pipe blocks taken in."""
    nodes: list[Node] = []
    number = 0
    while number < len(lines):
        raw = lines[number]
        number += 1
        text = raw.strip()
        if not text or text.startswith(("#", "//")):
            continue
        if text.startswith("/*"):
            number = _after_comment(lines, number - 1, findings)
            continue
        node = _node(number, raw, text)
        if _PIPE.match(node.value if node.key else node.text):
            block, number = _block(lines, number, node)
            node = replace(node, block=block)
        nodes.append(node)
    return nodes


def _node(number: int, raw: str, text: str) -> Node:
    column = len(raw) - len(raw.lstrip()) + 1
    indent = column - 1 if "\t" not in raw else len(raw[: column - 1].expandtabs(TAB_STOP))
    bullet = text == "-" or text.startswith(("- ", "-\t"))
    inner = text[1:].lstrip() if bullet else text
    inner_column = column + len(text) - len(inner)
    found = _KEY.match(inner)
    if found is None:
        return Node(number, indent, column, inner, bullet, "", "", inner_column, None)
    value_column = inner_column + found.start("value")
    return Node(number, indent, column, inner, bullet, found[1], found["value"], value_column, None)


def _block(lines: tuple[str, ...], number: int, node: Node) -> tuple[str, int]:
    """The text of the pipe block below `node`, and the index of the first line after it."""
    floor = node.indent
    if node.bullet and node.key:
        floor = node.indent + len(node.written) - len(node.text)
        first = next((lines[index] for index in range(number, len(lines)) if lines[index].strip()), "")
        indent = _indent(first)
        if node.indent < indent <= floor and not _KEY.match(first.strip()):
            floor = node.indent
    taken: list[str] = []
    end = number
    for index in range(number, len(lines)):
        line = lines[index]
        if not line.strip():
            taken.append("")
        elif _indent(line) > floor:
            taken.append(line.rstrip())
            end = index + 1
        elif not line.lstrip().startswith("#"):
            break
    while taken and not taken[-1]:
        taken.pop()
    margin = next((_indent(line) for line in taken if line), 0)
    return "\n".join(_without_margin(line, margin) for line in taken), end


def _without_margin(line: str, margin: int) -> str:
    body = line.lstrip()
    return " " * max(0, _indent(line) - margin) + body


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip())].expandtabs(TAB_STOP))


def _after_comment(lines: tuple[str, ...], start: int, findings: Findings) -> int:
    """The index of the first line after the comment that begins at `start`."""
    for index in range(start, len(lines)):
        line = lines[index]
        if "*/" in (line if index > start else line.strip()[2:]):
            return index + 1
    column = len(lines[start]) - len(lines[start].lstrip()) + 1
    findings.add("E346", start + 1, column, "this comment is never closed; write */ after it")
    return len(lines)
