"""Reasons and endings in plain words: what X1 and T5 name, said to a person (Q5)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from runtime.values.messages import Window
from runtime.values.record import LeftOutReason, Reason, TurnRecord, UnstoredReason

LEFT_OUT_WORDS: dict[LeftOutReason, str] = {
    "older-than-window": "older than the rows the window takes",
    "older-than-count": "older than the rows the handoff copies",
    "history-declined": "the window is 0, so no stored message is taken",
    "unit-too-large": "a call and its results are copied together or not at all, and together they exceed the count",
    "strategy-none": "the handoff copies no messages",
    "sensitive-child": "an agent that asked for a sensitive value handled it",
    "unreadable": "the stored row cannot be decoded, so no window includes it",
    "is-request": "it is this turn's request, which stands in its own section alone",
    "thread-resumed": "the thread was resumed with its own history, and nothing is copied then",
    "dropped": "the experiment left it out; the window counted it all the same",
    "dropped-by-client": "the recorded program did not send it",
    "hidden": "the file it came from marks it as not meant for the model",
}

UNSTORED_WORDS: dict[UnstoredReason, str] = {
    "transcript-only": "calls and results live in their own turn and are never stored",
    "turn-failed": "the turn failed, and a failed turn stores no answer",
    "turn-cut": "the turn ran out of budget, and stores no answer then",
    "turn-stopped": "the turn was stopped, and a stopped turn stores no answer",
    "turn-truncated": "the model reached its output limit, and half an answer is not stored",
    "child-turn": "it belongs to delegated work; only its output goes back, as the result of a call",
    "brief-turn": "the turn ran on a brief, which writes nothing to the thread",
    "view-run": "a re-run looks at the thread and never writes to it",
}

_FAILED: dict[Reason, str] = {
    "model-error": "no model answered",
    "no-output": "the model said nothing, also when asked again",
    "hook-error": "the program that runs the agent refused the answer",
    "store-error": "the store could not read or write",
    "interrupted": "the process that ran it ended before the turn did",
}

_BUDGETS: dict[Reason, str] = {
    "steps": "model calls",
    "tool-calls": "tool calls",
    "seconds": "time",
    "tokens": "tokens",
}


def turn_name(record: TurnRecord) -> str:
    """What a sentence calls the turn: `turn 3`, `re-run ID` for a run on a view, `delegated turn ID` for a child."""
    if record.is_run and record.kind != "child":
        return f"re-run {record.turn}"
    if record.kind == "child":
        return f"delegated turn {record.turn}"
    return f"turn {record.number}" if record.number else f"turn {record.turn}"


def settlement(record: TurnRecord) -> str:
    """How the turn ended and where its answer went, in one sentence without its final stop (T5, S5)."""
    said = f": {_line(record.error)}" if record.error else ""
    match record.status:
        case "running":
            return f"running (by {record.owner})" if record.owner else "running"
        case "completed":
            return _completed(record)
        case "cut":
            what = _BUDGETS.get(record.reason, "work") if record.reason else "work"
            return f"ended: the {what} granted to the turn ran out ({record.reason}); no answer is stored"
        case "stopped":
            return "stopped; no answer is stored, what came so far is kept in the record alone"
        case "truncated":
            return "truncated: the model reached its output limit; its calls did not run and no answer is stored"
        case "failed":
            return f"{_failed(record, said)}; no answer is stored"


def _completed(record: TurnRecord) -> str:
    decided = record.handoff or {}
    if decided.get("decision") == "handoff":
        return f"completed: handed off to {decided.get('to')}, with no answer of its own"
    if decided.get("decision") == "leave":
        return f"completed: the message is for {decided.get('to')}, so this agent waits"
    if record.stored_assistant is not None:
        return f"completed; the answer is stored as seq {record.stored_assistant}"
    if record.unstored_assistant is not None:
        return f"completed; the answer is not stored: {UNSTORED_WORDS[record.unstored_assistant]}"
    return "completed"


def _failed(record: TurnRecord, said: str) -> str:
    overflow = record.overflow
    if record.reason == "fit-overflow" and overflow is not None and record.fit is not None:
        total, limit = overflow.estimate + record.fit.reserve, record.fit.limit
        return (
            f"failed: the request does not fit ({overflow.estimate} tokens + {record.fit.reserve} kept for the answer "
            f"= {total} of {limit}), so none was made"
        )
    if record.reason is None:
        return f"failed{said}"
    return f"failed: {_FAILED.get(record.reason, record.reason)} ({record.reason}){said}"


def quoted(text: str, limit: int = 60) -> str:
    """`text` in quotes on one line, its end cut off beyond `limit` characters."""
    line = " ".join(text.split())
    if len(line) > limit:
        line = line[: limit - 1].rstrip() + "…"
    return f'"{_CONTROL.sub(_escaped, line)}"'


_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def _escaped(sign: re.Match[str]) -> str:
    return f"\\u{ord(sign[0]):04x}"


def ranges(seqs: Iterable[int]) -> str:
    """Ascending numbers as `9-11, 13`; an empty text for none."""
    found: list[tuple[int, int]] = []
    for seq in seqs:
        if found and found[-1][1] + 1 == seq:
            found[-1] = (found[-1][0], seq)
        else:
            found.append((seq, seq))
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def window_words(window: Window, stored: int, *, has_request: bool = True) -> str:
    """What a window of `window` means for a thread of `stored` rows, in words (X3).

    `has_request` says that the newest row is the turn's own request (an envelope's is, a brief's is not).
    """
    if window == "all" or (window >= stored and stored > 0):
        every = f"every stored message ({stored})"
        return f"all = {every}" if window == "all" else f"{window} = {every}"
    if window <= 0 or stored == 0:
        return f"{window} = no stored messages: the request alone"
    if not has_request:
        return f"{window} = the newest message" if window == 1 else f"{window} = the {window} newest messages"
    if window == 1:
        return "1 = the request's own row, nothing before it"
    before = "the message" if window == 2 else f"the {window - 1} messages"
    return f"{window} = the request + {before} before it"


def plural(count: int, noun: str) -> str:
    """`1 call`, `2 calls`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _line(text: str) -> str:
    return " ".join(text.split())
