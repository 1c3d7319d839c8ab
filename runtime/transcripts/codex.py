"""Codex's rollout files: one record a line; the conversation is in the `response_item` records.

The event records tell the same texts again and are not read. Context that the program puts into user messages is
marked, not shown as speech. A compaction names the history that replaced what came before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from runtime.transcripts.responses import Items, content
from runtime.transcripts.rows import Rows, Said
from runtime.transcripts.shapes import either, numbered, obj, seq, txt

_INJECTED: Final = (
    "<environment_context>",
    "<user_instructions>",
    "<INSTRUCTIONS>",
    "# AGENTS.md",
    "<permissions",
    "<turn_aborted>",
)


def is_rollout(values: Iterable[object]) -> bool:
    """Whether one of the first records is a `session_meta` with a payload."""
    return any(
        obj(value).get("type") == "session_meta" and isinstance(obj(value).get("payload"), dict) for value in values
    )


def add(rows: Rows, records: Iterable[tuple[object, str]]) -> None:
    """The records of one file, each with its source."""
    items = Items(rows)
    sessions = 0
    for value, source in records:
        record, at = obj(value), source.strip()
        payload = obj(record.get("payload"))
        kind = txt(record.get("type"))
        if kind == "session_meta":
            sessions += 1
            if sessions == 1:
                _instructions(rows, payload, at)
            else:
                rows.lose("session header", "a fork repeats the headers of its parents")
        elif kind == "response_item":
            _item(rows, items, payload, at)
        elif kind == "compacted":
            items.end()
            _compacted(rows, payload, at)
        elif kind == "turn_context":
            rows.model = rows.model or txt(payload.get("model"))
        elif kind == "event_msg":
            _event(rows, items, payload)
        else:
            rows.lose(f"{kind[:40] or 'other'} record", "no message of the conversation")
    items.end()


def _instructions(rows: Rows, payload: Mapping[str, object], source: str) -> None:
    rows.title = rows.title or txt(payload.get("id"))
    given = either(payload, "base_instructions", "instructions")
    text = txt(given) or txt(obj(given).get("text"))
    if text:
        rows.say("system", text, source=source)


def _item(rows: Rows, items: Items, payload: Mapping[str, object], source: str) -> None:
    said = Said()
    if payload.get("role") == "user":
        content(Rows(), said, payload.get("content"))
    if said.text.lstrip().startswith(_INJECTED):
        items.end()
        rows.say("system", said.text, source=source, flags=("injected",))
        return
    items.add(payload, source)


def _compacted(rows: Rows, payload: Mapping[str, object], source: str) -> None:
    """The summary as a row; with `last-seen` also the messages that the replacing history kept."""
    history = payload.get("replacement_history")
    summary = txt(payload.get("message")) or "[compacted; the file holds no summary]"
    rows.restart(summary, source=source)
    if rows.compaction == "full":
        if seq(history):
            rows.lose("replacing history", "shown in full instead: the messages stand where they were first sent", 1)
        return
    items = Items(rows)
    for item, place in numbered(history, f"{source} /payload/replacement_history"):
        said = Said()
        content(Rows(), said, obj(item).get("content"))
        if summary not in said.text:
            items.add(item, place)
    items.end()


def _event(rows: Rows, items: Items, payload: Mapping[str, object]) -> None:
    kind = txt(payload.get("type"))
    if kind == "thread_rolled_back":
        items.end()
        turns = payload.get("num_turns")
        rows.hide_last_turns(turns if isinstance(turns, int) else 1)
    elif kind == "turn_aborted":
        items.end()
        rows.lose("aborted turn", "stopped by the user: it may have no answer")
