"""What stays of a turn: what the next turn sees of it, what its tools changed, and what is said twice (A5, X6)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.context import repeats_of
from runtime.explain.accounts import stored_calls
from runtime.explain.words import plural
from runtime.values.items import AssistantStep, Nudge, ToolResults
from runtime.values.json import Json, as_text
from runtime.values.record import ContextRecord, TurnRecord
from runtime.values.understanding import NOTES


@dataclass(frozen=True, slots=True)
class NextSees:
    """What a later turn on the thread can and cannot see of this one, in words; empty where there is nothing."""

    sees: tuple[str, ...]
    not_sees: tuple[str, ...]


def next_sees(record: TurnRecord) -> NextSees:
    """What the next turn sees of this one (rows, and state through state views) and what it does not (S5)."""
    sees: list[str] = []
    unseen: list[str] = []
    if record.stored_user is not None:
        sees.append(f"the request (seq {record.stored_user})")
    elif record.unstored_user is not None:
        unseen.append("the request")
    if record.stored_assistant is not None:
        sees.append(f"the answer (seq {record.stored_assistant})")
    elif _said(record):
        unseen.append("the answer" if record.status == "completed" else "what was said of an answer")
    stored = stored_calls(record)
    if stored:
        sees.append(f"{plural(len(stored), 'call')} of its tools and the results")
    changed = [] if record.is_run else state_changed_since(record)
    if changed:
        sees.append(f"the state it left ({', '.join(change.key for change in changed)})")
    return NextSees(tuple(sees), (*unseen, *_transcript_only(record)))


def _transcript_only(record: TurnRecord) -> list[str]:
    if record.origin != "run":
        return []
    stored = stored_calls(record)
    steps = [item for item in record.transcript if isinstance(item, AssistantStep)]
    groups = [item for item in record.transcript if isinstance(item, ToolResults)]
    calls = sum(call.id not in stored for step in steps for call in step.calls)
    results = sum(result.id not in stored for group in groups for result in group.results)
    nudges = sum(isinstance(item, Nudge) for item in record.transcript)
    children = len(record.children or {})
    counted = ((calls, "call"), (results, "result"), (nudges, "time asked again"), (children, "delegated turn"))
    words = [plural(count, noun) for count, noun in counted if count]
    return [word.replace("time asked agains", "times asked again") for word in words]


def _said(record: TurnRecord) -> bool:
    steps = [item for item in record.transcript if isinstance(item, AssistantStep)]
    return bool(record.answer) or bool(steps and steps[-1].text)


@dataclass(frozen=True, slots=True)
class StateChange:
    """A state value that this turn's tools changed after the state views were rendered (A5).

    `before` and `after` are texts, None where the key was absent. `step` is the last step that set it, 0 if the
    record does not tell. `shown` says that a state view had shown it: that text did not change.
    """

    key: str
    before: str | None
    after: str | None
    step: int
    shown: bool

    @property
    def sentence(self) -> str:
        """The mark beside the state view: `step 1 set it to detailed; this text did not change`."""
        who = f"step {self.step}" if self.step else "a tool"
        what = f"set it to {self.after}" if self.after is not None else "removed it"
        return f"{who} {what}; this text did not change" if self.shown else f"{who} {what}; no state view shows it"


def state_changed_since(record: TurnRecord) -> list[StateChange]:
    """What the turn's tools changed in the state, by key; the next turn's state views show it (A5)."""
    before, after = record.state_before, record.state_after
    section = record.context.section("state") if record.context is not None else None
    lines = section.text.split("\n") if section is not None else []
    return [
        StateChange(
            key, _text(before, key), _text(after, key), _setter(record, key), any(_shows(line, key) for line in lines)
        )
        for key in sorted({*before, *after} - {NOTES})
        if _text(before, key) != _text(after, key)
    ]


def _text(state: Mapping[str, Json], key: str) -> str | None:
    return as_text(state[key]) if key in state else None


def _shows(line: str, key: str) -> bool:
    return line.startswith(f"{key}:")


def _setter(record: TurnRecord, key: str) -> int:
    return max((step for step, writes in (record.writes or {}).items() if key in writes), default=0)


def repetition(context: ContextRecord) -> dict[int, tuple[str, ...]]:
    """By seq, what stands twice in a context, in words (X6): rows that are or say the same as the request, and rows
    that say the same as a row before them. Found by content, also where a record does not tell."""
    request = context.section("request")
    own = next((row.seq for row in context.rows if row.is_request), None)
    found = repeats_of([(row.seq, row.text) for row in context.rows], request.text if request is not None else "", own)
    return {seq: tuple(_repeats(one, seq == own) for one in repeated) for seq, repeated in found.items()}


def _repeats(what: str, own: bool) -> str:
    if what == "request" and own:
        return "is also the request, stored first"
    return "says the same as the request" if what == "request" else f"says the same as {what}"


def answer_repeats(record: TurnRecord) -> int | None:
    """The newest assistant row in the turn's context that its answer repeats (casefolded, white space folded); None
    if it repeats none (X6)."""
    if record.answer is None or record.context is None:
        return None
    said = _folded(record.answer)
    rows = reversed(record.context.rows)
    return next((row.seq for row in rows if said and row.role == "assistant" and _folded(row.text) == said), None)


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
