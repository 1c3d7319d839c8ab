"""Reading the fields of a YAML tree: every value by its kind, every problem collected with its place (Q1)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from runtime.errors import BadInput
from runtime.files import Listing, Node, Scalar, Table
from runtime.values.diagnostic import Diagnostic, Severity
from runtime.values.json import clean
from runtime.values.messages import Window, read_window

_WHOLE = re.compile(r"-?[0-9]{1,18}\Z", re.ASCII)
_DECIMAL = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?\Z", re.ASCII)


@dataclass(slots=True)
class Problems:
    """What is wrong with one file, in the order found."""

    file: str
    found: list[Diagnostic] = field(default_factory=list)

    def error(self, code: str, where: Node | None, field: str, problem: str) -> None:
        """Note an error; `where` is the node at fault, `field` its path."""
        self.note("error", code, where, field, problem)

    def warning(self, code: str, where: Node | None, field: str, problem: str) -> None:
        """Note something that loads but is hardly meant."""
        self.note("warning", code, where, field, problem)

    def note(self, severity: Severity, code: str, where: Node | None, field: str, problem: str) -> None:
        line, column = (where.line, where.column) if where else (None, None)
        self.found.append(Diagnostic(self.file, line, column, code, severity, clean(problem), field))

    def refuse(self, error: BadInput, code: str) -> None:
        """Note an error that was raised elsewhere, at its own place."""
        place = error.file or self.file
        self.found.append(Diagnostic(place, error.line, error.column, code, "error", error.problem, error.field))

    def raise_first(self) -> None:
        """Raise the first error, by its place in the file, as BadInput."""
        errors = sorted((d for d in self.found if d.severity == "error"), key=lambda d: (d.line or 0, d.column or 0))
        if errors:
            first = errors[0]
            raise BadInput(first.message, file=first.file, line=first.line, column=first.column, field=first.field)


class Fields:
    """A table being read. Each read notes what is wrong and gives a usable default; `done` notes unknown keys."""

    __slots__ = ("path", "problems", "read", "table")

    def __init__(self, table: Table, problems: Problems, path: str = "") -> None:
        self.table, self.problems, self.path = table, problems, path
        self.read: set[str] = set()

    @classmethod
    def of(cls, node: Node, problems: Problems, path: str = "") -> Fields:
        """The fields of `node`; one that is no table is an error and has no fields."""
        if isinstance(node, Table):
            return cls(node, problems, path)
        problems.error("S102", node, path, f"should be a table of keys and values, not {kind_of(node)}")
        return cls(Table({}, {}, node.line, node.column), problems, path)

    def at(self, key: str) -> str:
        """The path of a key, as errors name it."""
        return f"{self.path}.{key}" if self.path else key

    def node(self, key: str) -> Node | None:
        """The value of a key, None if it is left out."""
        self.read.add(key)
        return self.table.entries.get(key)

    def has(self, key: str) -> bool:
        return key in self.table.entries

    def wrong(self, key: str, code: str, problem: str) -> None:
        """Note an error at a key's value."""
        self.problems.error(code, self.table.entries.get(key, self.table), self.at(key), problem)

    def text(self, key: str, default: str = "", *, required: bool = False) -> str:
        """A text, quoted or not; left out it is `default`. A required one is not blank."""
        node = self.node(key)
        if node is None:
            if required:
                self.wrong(key, "S103", "is missing")
            return default
        if not isinstance(node, Scalar):
            self.wrong(key, "S102", f"should be a text, not {kind_of(node)}")
            return default
        if required and not node.text.strip():
            self.wrong(key, "S103", "is empty")
        return clean(node.text)

    def whole(self, key: str, default: int | None = None, *, least: int = 0) -> int | None:
        """A whole number of `least` or more, written without quotes."""
        node = self.node(key)
        if node is None:
            return default
        if isinstance(node, Scalar) and node.plain and _WHOLE.match(node.text) and int(node.text) >= least:
            return int(node.text)
        self.wrong(key, "S105", f"should be a whole number of {least} or more, not {shown(node)}")
        return default

    def seconds(self, key: str, default: float | None = None) -> float | None:
        """A number of seconds, 0 or more, written without quotes."""
        node = self.node(key)
        if node is None:
            return default
        if isinstance(node, Scalar) and node.plain and _DECIMAL.match(node.text):
            return float(node.text)
        self.wrong(key, "S105", f"should be a number of seconds, not {shown(node)}")
        return default

    def flag(self, key: str) -> bool:
        """`true` or `false`, written without quotes; left out it is false."""
        node = self.node(key)
        if node is None:
            return False
        if isinstance(node, Scalar) and node.plain and node.text in ("true", "false"):
            return node.text == "true"
        self.wrong(key, "S102", f"should be true or false, not {shown(node)}")
        return False

    def window(self, key: str) -> Window | None:
        """A history window (S3); None if it is left out."""
        node = self.node(key)
        return None if node is None else window_of(node, self.problems, self.at(key))

    def texts(self, key: str, *, distinct: bool = False) -> tuple[str, ...]:
        """A list of texts, none of them blank; a single text is a list of one, nothing at all an empty list."""
        found: list[str] = []
        for n, node in enumerate(self.items(key), start=1):
            place = f"{self.at(key)}[{n}]"
            if not isinstance(node, Scalar):
                self.problems.error("S102", node, place, f"should be a text, not {kind_of(node)}")
            elif not node.text.strip():
                self.problems.error("S103", node, place, "is empty")
            elif distinct and node.text in found:
                self.problems.error("S107", node, place, f"names {node.text} a second time")
            else:
                found.append(clean(node.text))
        return tuple(found)

    def items(self, key: str) -> Sequence[Node]:
        """The nodes of a list; a single text is a list of one, nothing at all an empty list."""
        node = self.node(key)
        if node is None or (isinstance(node, Scalar) and node.plain and not node.text):
            return ()
        if isinstance(node, Listing):
            return node.items
        if isinstance(node, Scalar):
            return (node,)
        self.wrong(key, "S102", f"should be a list, not {kind_of(node)}")
        return ()

    def tables(self, key: str) -> list[Fields]:
        """The tables of a list, each with its place in its path, counted from 1."""
        node = self.node(key)
        if node is None or (isinstance(node, Scalar) and node.plain and not node.text):
            return []
        if not isinstance(node, Listing):
            self.wrong(key, "S102", f"should be a list, not {kind_of(node)}")
            return []
        return [Fields.of(item, self.problems, f"{self.at(key)}[{n}]") for n, item in enumerate(node.items, start=1)]

    def inner(self, key: str) -> Fields | None:
        """The table under a key, None if it is left out."""
        node = self.node(key)
        return None if node is None else Fields.of(node, self.problems, self.at(key))

    def done(self, known: Iterable[str]) -> None:
        """Note each key that is none of `known`, with the one it may have been meant for."""
        names = list(known)
        for key, scalar in self.table.keys.items():
            if key not in names:
                meant = nearest(key, names)
                hint = f"did you mean {meant}?" if meant else f"known are {', '.join(names)}"
                self.problems.error("S101", scalar, self.at(key[:60]), f"is not known here; {hint}")


def window_of(node: Node, problems: Problems, path: str) -> Window | None:
    """The window that a node means: a plain scalar `-?[0-9]+` or `all` (S3), else an error and None."""
    try:
        if isinstance(node, Scalar) and node.plain:
            return read_window(node.text)
    except BadInput:
        pass
    problems.error("S104", node, path, f"a window is a whole number or all, written without quotes, not {shown(node)}")
    return None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that `name` may have been meant for, None if none is near."""
    from difflib import get_close_matches

    folded = {one.casefold().replace("_", "").replace("-", ""): one for one in known}
    close = get_close_matches(name[:60].casefold().replace("_", "").replace("-", ""), folded, 1, 0.6)
    return folded[close[0]] if close else None


def kind_of(node: Node) -> str:
    """What a node is, in a sentence."""
    if isinstance(node, Scalar):
        return "a text" if node.text or not node.plain else "nothing"
    return "a list" if isinstance(node, Listing) else "a table"


def shown(node: Node) -> str:
    """A node's value in a sentence: texts in quotes as they stand, cut to 40 characters."""
    if not isinstance(node, Scalar) or not node.text:
        return kind_of(node) if not isinstance(node, Scalar) or node.plain else '""'
    text = node.text if len(node.text) <= 40 else node.text[:39] + "…"
    return f"the quoted text {text!r}" if not node.plain else repr(text)
