"""Claude Code's session files: one record a line, Anthropic messages inside, branches, side chains and compactions.

Records form a tree; what was abandoned, what belongs to a sub-agent, and what the program wrote for itself is left
out of the main thread and counted. A compaction's summary is a row of its own, never something the user said.

A session is read once: its main thread becomes rows while its tree becomes known. Only where the tree then shows an
abandoned branch, or another part is wanted, it is read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from runtime.transcripts import anthropic
from runtime.transcripts.claude_tree import SPOKEN, Tree
from runtime.transcripts.conversation import Compaction
from runtime.transcripts.rows import Rows
from runtime.transcripts.shapes import get, obj, objs, txt
from runtime.transcripts.spool import Tally

Records: TypeAlias = Callable[[], Iterable[tuple[object, str]]]
"""The records of a file, each with its source; asked for again, they are read again."""

_CLEAR = re.compile(r"<command-name>\s*/clear\s*</command-name>")
_NOT_SPEECH = re.compile(
    r"\s*(?:<(?:local-command-stdout|local-command-stderr|command-name|command-message|bash-stdout|bash-stderr)>"
    r"|Caveat: The messages below were generated)"
)


@dataclass(frozen=True, slots=True)
class Part:
    """One conversation of a session: its number in the tree, a title if it has one, whether it is a side chain."""

    number: int
    title: str
    side: bool
    source: str


@dataclass(slots=True)
class Session:
    """A session whose tree is known, and the rows of its first stretch as they were read on the way."""

    records: Records
    tree: Tree
    first: Rows
    title: str = ""
    twice: int = 0
    sources: dict[int, str] = field(default_factory=dict)
    _counted: dict[int, Rows] = field(default_factory=dict)

    def parts(self) -> Iterator[Part]:
        """The conversations that hold messages: the stretches of the main thread, then the side chains."""
        tree = self.tree
        mains = [part for part in tree.mains if tree.speaks(part)]
        for part in mains:
            yield Part(part, self.title if len(mains) == 1 else "", False, self.sources[part])
        for name, part in tree.sides.items():
            if tree.speaks(part):
                yield Part(part, f"side chain {name}".strip(), True, self.sources[part])

    def add(self, rows: Rows, part: int) -> None:
        """One part into rows."""
        dropped = self.tree.dropped(part)
        if part == 0 and not dropped and rows.compaction == self.first.compaction:
            rows.become(self.first)
        else:
            reading = _Reading(rows)
            for number, (value, source) in enumerate(self.records()):
                if self.tree.part_of(number) == part and number not in dropped:
                    reading.add_record(obj(value), source)
        if dropped:
            rows.lose("message of an abandoned branch", "edited or rewound: another branch goes on", len(dropped))
        if self.twice:
            rows.lose("record written twice", "a compaction writes earlier records again; kept once", self.twice)

    def glance(self, part: int) -> tuple[str, int]:
        """What the user said first in a part, and how many rows it has. All parts are counted at once."""
        if part == 0 and not self.tree.dropped(0):
            self._counted[0] = self.first
        if part not in self._counted:
            self._count()
        messages = self._counted[part].messages
        return messages.asked, len(messages)

    def _count(self) -> None:
        dropped: set[int] = set()
        readings: dict[int, _Reading] = {}
        for number in range(self.tree.parts):
            dropped |= self.tree.dropped(number)
            readings[number] = _Reading(Rows(Tally()))
        for number, (value, source) in enumerate(self.records()):
            part = self.tree.part_of(number)
            if part >= 0 and number not in dropped:
                readings[part].add_record(obj(value), source)
        self._counted |= {part: reading.rows for part, reading in readings.items()}


def is_record(value: object) -> bool:
    """Whether `value` is a message record of a session."""
    record = obj(value)
    return txt(record.get("type")) in SPOKEN and "content" in obj(record.get("message"))


def read(records: Records, compaction: Compaction = "full") -> Session:
    """Read a session through. Records met before (same uuid) are dropped."""
    tree = Tree()
    session = Session(records, tree, Rows(compaction=compaction))
    reading = _Reading(session.first)
    add, read_on, sources = tree.add, reading.add, session.sources
    for value, source in records():
        raw = value if type(value) is dict else {}
        kind = _kind(raw)
        message = _message(raw)
        clears = kind == "user" and _clears(message)
        part = add(raw, kind, message, clears=clears)
        if part == 0:
            read_on(raw, kind, message, source)
        elif part < 0:
            session.twice += not clears
        if part >= 0 and part not in sources:
            sources[part] = source.strip()
        if kind == "summary" and not session.title:
            session.title = txt(raw.get("summary"))
    return session


def _kind(raw: Mapping[str, object]) -> str:
    kind = raw.get("type")
    return kind if type(kind) is str else ""


def _message(raw: Mapping[str, object]) -> Mapping[str, object]:
    message = raw.get("message")
    return message if type(message) is dict else {}


class _Reading:
    """Records of one part on their way into rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self._at_work = ""

    def add_record(self, raw: Mapping[str, object], source: str) -> None:
        """One record."""
        self.add(raw, _kind(raw), _message(raw), source)

    def add(self, raw: Mapping[str, object], kind: str, message: Mapping[str, object], source: str) -> None:
        """One record of this kind with this message; a response that goes on in further records becomes one row."""
        rows = self.rows
        if kind != "user" and kind != "assistant":
            if kind != "summary" and not (kind == "system" and raw.get("subtype") == "compact_boundary"):
                rows.lose(f"{kind[:40] or 'other'} record", "no message of the conversation")
            return
        if raw.get("isCompactSummary") is True:
            rows.restart(_text(message), source=source.strip())
            return
        if raw.get("isMeta") is True:
            rows.lose("meta message", "written by the program for itself")
            return
        content = message.get("content")
        source = source.strip()
        if kind == "user":
            self._at_work = ""
            if type(content) is str and _NOT_SPEECH.match(content):
                rows.lose("command output", "shown by the program, not said by the user")
            elif not anthropic.add_simply(rows, "user", content, source):
                anthropic.add(rows, message, source, role="user")
            return
        if not rows.model:
            rows.model = txt(message.get("model"))
        id = txt(message.get("id"))
        join = id == self._at_work and bool(id) and rows.messages.last_role == "assistant"
        self._at_work = id
        if join or not anthropic.add_simply(rows, "assistant", content, source):
            anthropic.add(rows, message, source, role="assistant", join=join)


def _clears(message: Mapping[str, object]) -> bool:
    """Whether a user's message is the command that begins a new conversation."""
    content = message.get("content")
    if type(content) is str:
        return "/clear" in content and _CLEAR.search(content) is not None
    if type(content) is not list or not any(type(block) is dict and block.get("type") == "text" for block in content):
        return False
    return "/clear" in (text := _text(message)) and _CLEAR.search(text) is not None


def _text(message: Mapping[str, object]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(txt(get(block, "text")) for block in objs(content) if block.get("type") == "text")
