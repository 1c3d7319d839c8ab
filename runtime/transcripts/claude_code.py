"""Claude Code's session files: one record a line, Anthropic messages inside, branches, side chains and compactions.

Records form a tree; what was abandoned, what belongs to a sub-agent, and what the program wrote for itself is left
out of the main thread and counted. A compaction's summary is a row of its own, never something the user said.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from runtime.transcripts import anthropic
from runtime.transcripts.rows import Rows
from runtime.transcripts.shapes import get, obj, objs, txt

_CLEAR = re.compile(r"<command-name>\s*/clear\s*</command-name>")
_NOT_SPEECH = re.compile(
    r"\s*(?:<(?:local-command-stdout|local-command-stderr|command-name|command-message|bash-stdout|bash-stderr)>"
    r"|Caveat: The messages below were generated)"
)
_KEPT = ("user", "assistant")


class Record(NamedTuple):
    """What is needed of one line: its message without the copies that the program keeps beside it."""

    kind: str
    message: Mapping[str, object]
    source: str
    uuid: str
    parent: str
    meta: bool
    summary: bool
    boundary: bool


@dataclass(slots=True)
class Session:
    """The records of a file, split as they are read: the main thread with its `/clear` cuts, and the side chains."""

    mains: list[list[Record]] = field(default_factory=lambda: [[]])
    sides: dict[str, list[Record]] = field(default_factory=dict)
    title: str = ""
    lost: dict[tuple[str, str], int] = field(default_factory=dict)

    def lose(self, what: str, reason: str) -> None:
        self.lost[what, reason] = self.lost.get((what, reason), 0) + 1


def is_record(value: object) -> bool:
    """Whether `value` is a message record of a session."""
    record = obj(value)
    return txt(record.get("type")) in _KEPT and "content" in obj(record.get("message"))


def read(records: Iterable[tuple[object, str]]) -> Session:
    """The session in `records`, each with its source. Records met before (same uuid) are dropped."""
    session = Session()
    seen: set[str] = set()
    for value, source in records:
        raw = obj(value)
        record = _record(raw, source.strip())
        if record.uuid:
            if record.uuid in seen:
                session.lose("record written twice", "a compaction writes earlier records again; kept once")
                continue
            seen.add(record.uuid)
        if raw.get("isSidechain") is True:
            _side(session, record, raw)
        elif record.kind == "user" and "/clear" in (text := _text(record.message)) and _CLEAR.search(text):
            session.mains.append([])
        else:
            session.mains[-1].append(record)
        if record.kind == "summary":
            session.title = session.title or txt(raw.get("summary"))
    return session


def conversations(session: Session) -> Iterator[tuple[str, list[Record], bool]]:
    """The session's conversations that hold messages, as (title, records, whether it is a side chain)."""
    mains = [part for part in session.mains if any(record.kind in _KEPT for record in part)]
    for part in mains:
        yield session.title if len(mains) == 1 else "", part, False
    for name, part in session.sides.items():
        if any(record.kind in _KEPT for record in part):
            yield f"side chain {name}".strip(), part, True


def add(rows: Rows, records: list[Record], session: Session) -> None:
    """One conversation's records into rows."""
    for (what, reason), count in session.lost.items():
        rows.lose(what, reason, count)
    at_work = ""
    for record in _branch(rows, records):
        if record.boundary or record.kind == "summary":
            continue
        if record.kind not in _KEPT:
            rows.lose(f"{record.kind or 'other'} record", "no message of the conversation")
            continue
        message = record.message
        if record.summary:
            rows.restart(_text(message), source=record.source)
            continue
        if record.meta:
            rows.lose("meta message", "written by the program for itself")
            continue
        if record.kind == "user" and isinstance(message.get("content"), str) and _NOT_SPEECH.match(_text(message)):
            rows.lose("command output", "shown by the program, not said by the user")
            continue
        if record.kind == "assistant":
            rows.model = rows.model or txt(message.get("model"))
        same = record.kind == "assistant" and bool(at_work) and message.get("id") == at_work
        join = same and bool(rows.messages) and rows.messages[-1].role == "assistant"
        anthropic.add(rows, message, record.source, role=record.kind, join=join)
        at_work = txt(message.get("id")) if record.kind == "assistant" else ""


def _record(raw: Mapping[str, object], source: str) -> Record:
    given = obj(raw.get("message"))
    message = {key: given[key] for key in ("content", "id", "model") if key in given}
    kind = txt(raw.get("type"))
    boundary = kind == "system" and raw.get("subtype") == "compact_boundary"
    parent = txt(raw.get("parentUuid")) or txt(raw.get("logicalParentUuid"))
    summary = raw.get("isCompactSummary") is True
    return Record(kind, message, source, txt(raw.get("uuid")), parent, raw.get("isMeta") is True, summary, boundary)


def _side(session: Session, record: Record, raw: Mapping[str, object]) -> None:
    """A sub-agent's record: by agent id if there is one, else by the chain of parents it hangs on."""
    name = txt(raw.get("agentId"))
    if not name:
        for known, part in session.sides.items():
            if record.parent and any(other.uuid == record.parent for other in part[-50:]):
                name = known
                break
        else:
            name = str(len(session.sides) + 1)
    session.sides.setdefault(name, []).append(record)


def _branch(rows: Rows, records: list[Record]) -> Iterator[Record]:
    """The records that lead to the last message, in file order; those of abandoned branches are counted.

    Where ids are missing the order of the file stands. Records that hang on nothing are kept.
    """
    by_id = {record.uuid: record for record in records if record.uuid}
    leaf = next((record for record in reversed(records) if record.kind in _KEPT and record.uuid), None)
    if leaf is None or any(record.kind in _KEPT and not record.uuid for record in records):
        yield from records
        return
    before = _messages_before(records)
    kept: set[str] = set()
    at: str = leaf.uuid
    while at and at not in kept:
        kept.add(at)
        record = by_id.get(at)
        at = record.parent or before.get(at, "") if record else ""
    if all(record.uuid in kept for record in records if record.kind in _KEPT):
        yield from records
        return
    kept |= _parallel(records, kept)
    branched = {record.parent for record in records if record.uuid in kept}
    for record in records:
        abandoned = record.uuid and record.uuid not in kept and record.parent in by_id and record.kind in _KEPT
        if abandoned and (record.parent in branched or record.parent not in kept):
            rows.lose("message of an abandoned branch", "edited or rewound: another branch goes on")
            continue
        yield record


def _messages_before(records: list[Record]) -> dict[str, str]:
    """By boundary or summary: the message written before it, for those that name no parent."""
    found: dict[str, str] = {}
    last = ""
    for record in records:
        if record.boundary or record.summary:
            found[record.uuid] = last
        elif record.kind in _KEPT:
            last = record.uuid
    return found


def _parallel(records: list[Record], kept: set[str]) -> set[str]:
    """Results of calls made in parallel hang side by side on their calls, not in one line: they are kept."""
    ids = {
        txt(block.get("id"))
        for record in records
        if record.uuid in kept
        for block in objs(record.message.get("content"))
        if block.get("type") == "tool_use"
    }
    responses = {
        txt(record.message.get("id")) for record in records if record.uuid in kept and record.kind == "assistant"
    }
    found: set[str] = set()
    for record in records:
        blocks = objs(record.message.get("content"))
        if record.kind == "assistant" and record.message.get("id") and txt(record.message.get("id")) in responses:
            found.add(record.uuid)
            ids |= {txt(block.get("id")) for block in blocks if block.get("type") == "tool_use"}
        elif any(block.get("type") == "tool_result" and txt(block.get("tool_use_id")) in ids for block in blocks):
            found.add(record.uuid)
    return found


def _text(message: Mapping[str, object]) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(txt(get(block, "text")) for block in objs(content) if block.get("type") == "text")
