"""ADK's containers of Gemini contents: a session's events, and the cases of an eval set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from runtime.transcripts import gemini
from runtime.transcripts.rows import Rows, Said
from runtime.transcripts.shapes import either, numbered, obj, objs, txt

_CALL: Final = ("name", "args", "id")


def add_session(rows: Rows, session: Mapping[str, object], pointer: str) -> None:
    """The events of one session, oldest first."""
    rows.title = rows.title or txt(either(session, "id", "appName", "app_name"))
    first_row: dict[str, int] = {}
    for value, place in numbered(session.get("events"), f"{pointer}/events"):
        add_event(rows, obj(value), place.strip(), first_row)


def add_event(rows: Rows, event: Mapping[str, object], source: str, first_row: dict[str, int]) -> None:
    """One event. `first_row` remembers where each invocation began, for rewinds."""
    if event.get("partial") is True:
        rows.lose("partial event", "a piece of a stream whose whole follows")
        return
    actions = obj(event.get("actions"))
    invocation = txt(either(event, "invocationId", "invocation_id"))
    first_row.setdefault(invocation, len(rows.messages))
    compacted = obj(actions.get("compaction"))
    rewound = txt(either(actions, "rewindBeforeInvocationId", "rewind_before_invocation_id"))
    if compacted:
        _compacted(rows, compacted, source)
    if rewound in first_row and rewound:
        rows.hide_from(first_row[rewound])
    content = event.get("content")
    if not objs(obj(content).get("parts")):
        if not compacted and not rewound:
            rows.lose("event without content", "a change of state")
        return
    author = txt(event.get("author"))
    branch = txt(event.get("branch"))
    flags = ("sidechain",) if branch and "." in branch else ()
    parts = ({"type": "author", "name": author},) if author and author != "user" else ()
    gemini.add(rows, content, source, parts=parts, flags=flags)


def _compacted(rows: Rows, compacted: Mapping[str, object], source: str) -> None:
    content = obj(either(compacted, "compactedContent", "compacted_content"))
    text = "\n".join(txt(part.get("text")) for part in objs(content.get("parts")))
    rows.restart(text or "[compacted]", source=source)


def add_case(rows: Rows, case: Mapping[str, object], pointer: str) -> None:
    """One case of an eval set: what was asked, the calls expected, the answer expected."""
    rows.title = rows.title or txt(either(case, "eval_id", "evalId"))
    if not isinstance(case.get("conversation"), list):
        rows.lose("conversation", "the case holds a scenario, no messages")
    for value, place in numbered(case.get("conversation"), f"{pointer}/conversation"):
        turn, at = obj(value), place.strip()
        asked = either(turn, "user_content", "userContent")
        if asked:
            gemini.add(rows, {**obj(asked), "role": "user"}, f"{at}/user_content")
        _intermediate(rows, obj(either(turn, "intermediate_data", "intermediateData")), f"{at}/intermediate_data")
        answer = either(turn, "final_response", "finalResponse")
        if answer:
            gemini.add(rows, {**obj(answer), "role": "model"}, f"{at}/final_response")


def _intermediate(rows: Rows, data: Mapping[str, object], source: str) -> None:
    uses = objs(either(data, "tool_uses", "toolUses"))
    if uses:
        said = Said()
        said.calls += [rows.call(use.get("id"), use.get("name"), use.get("args")) for use in uses]
        rows.add("assistant", said, source=f"{source}/tool_uses")
    for response in objs(either(data, "tool_responses", "toolResponses")):
        part = {"functionResponse": response}
        gemini.add(rows, {"role": "user", "parts": [part]}, f"{source}/tool_responses")
    if either(data, "intermediate_responses", "intermediateResponses"):
        rows.lose("intermediate responses", "notes of sub-agents beside the conversation")
