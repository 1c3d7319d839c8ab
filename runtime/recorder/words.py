"""What the Studio says of a recorded turn: how much of its thread the program sent, what it left out or said twice."""

from __future__ import annotations

from runtime.explain.words import plural, ranges
from runtime.values.record import ContextRecord


def sent_words(context: ContextRecord, *, seen: bool = False) -> str:
    """`recorded: your program sent 23 of 31 messages`, for the window bar; the request counts as sent.

    With `seen` the short form for the terminal, empty if nothing was left out.
    """
    gone = _dropped(context)
    of = f"{context.stored - len(gone)} of {plural(context.stored, 'message')}"
    if seen:
        return f"sent {of}" if gone else ""
    return f"recorded: your program sent {of}"


def program_words(context: ContextRecord) -> tuple[str, ...]:
    """What the program did with its messages between two calls, one sentence each; empty if it only added to them.

    Rows it left out, apart those that the turn before still had; texts it sent twice (X6).
    """
    found = []
    gone = _dropped(context)
    if gone:
        newly = [seq for seq in context.since.left if seq in gone]
        now = f"; {ranges(newly)} since the turn before" if newly and newly != gone else ""
        found.append(f"your program left out {plural(len(gone), 'message')}: seq {ranges(gone)}{now}")
    for seq, first in sorted(repeated(context).items()):
        found.append(f"your program sent seq {seq} with the same text as {first}")
    return tuple(found)


def repeated(context: ContextRecord) -> dict[int, str]:
    """By seq, the rows whose text stands in the context already: `seq 3`, or `the request` (X6)."""
    seen: dict[tuple[str, str], int] = {}
    found: dict[int, str] = {}
    request = context.section("request")
    for row in context.rows:
        if not row.text.strip():
            continue
        key = (row.role, row.text)
        if key in seen:
            found[row.seq] = f"seq {seen[key]}"
        elif request is not None and row.role == "user" and row.text == request.text:
            found[row.seq] = "the request"
        seen.setdefault(key, row.seq)
    return found


def _dropped(context: ContextRecord) -> list[int]:
    return [
        seq
        for left in context.left_out
        if left.reason == "dropped-by-client"
        for seq in range(left.first, left.last + 1)
    ]
