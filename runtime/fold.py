"""The record of a turn is the fold of its journal: live, reopened, imported and recorded turns are read alike (A6)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from runtime.values.items import AssistantStep, Item, Nudge, ToolResult, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.record import (
    Attempt,
    ContextItem,
    Fit,
    JournalItem,
    ResultsItem,
    Settlement,
    StepItem,
    StepRecord,
    Turn,
    TurnRecord,
    UnstoredReason,
)
from runtime.values.usage import Usage

NOT_RUN = "not run: the turn ended first"


def fold(
    turn: Turn,
    items: Iterable[JournalItem],
    *,
    bodies: Mapping[int, bytes] | None = None,
    children: Sequence[TurnRecord] = (),
) -> TurnRecord:
    """The record of `turn` from its journal, complete or not.

    `bodies` are the request bodies by step that are still kept; `children` the records of its delegated turns. Calls
    of a settled turn that have no result in the journal (its process died) get an error result, so that every call
    has exactly one (T4).
    """
    context: ContextItem | None = None
    steps: list[StepRecord] = []
    transcript: list[Item] = []
    attempts: list[Attempt] = []
    settlement: Settlement | None = None
    state = dict(turn.state_before)
    writes: dict[int, JsonObject] = {}
    for entry in items:
        match entry.body:
            case ContextItem():
                context = entry.body
            case StepItem(item=step):
                body = _body((bodies or {}).get(step.step))
                steps.append(StepRecord(step.step, entry.body.estimate, entry.body.parts, entry.body.seconds, body))
                if not (step.partial and step.empty):  # a call that brought nothing is a step made, not an item
                    transcript.append(step)
            case ResultsItem(item=results):
                transcript.append(results)
                state.update(entry.body.writes)
                if entry.body.writes:
                    writes[results.step] = entry.body.writes
            case Nudge():
                transcript.append(entry.body)
            case Attempt():
                attempts.append(entry.body)
            case Settlement():
                settlement = entry.body
    status = settlement.status if settlement else turn.status
    by_call = {child.parent_call: child for child in children if child.parent_call is not None}
    if status != "running":
        transcript = answered(transcript, by_call)
    overflow = settlement.overflow if settlement else None
    return TurnRecord(
        turn=turn.id,
        thread=turn.thread,
        origin=turn.origin,
        layout=turn.layout,
        agent=turn.agent,
        kind=turn.kind,
        window=turn.window,
        request=turn.request,
        at=turn.opened,
        seconds=(turn.settled - turn.opened).total_seconds() if turn.settled else None,
        context=context.context if context else None,
        fit=_fit(context, steps, settlement),
        steps=tuple(steps),
        transcript=tuple(transcript),
        tiers=tuple(attempts),
        status=status,
        reason=settlement.reason if settlement else turn.reason,
        error=settlement.error if settlement else None,
        answer=settlement.answer if settlement and status == "completed" else None,
        stored_user=None if turn.view else turn.stored_user,
        stored_assistant=None if turn.view else turn.stored_assistant,
        unstored_user=_unstored(turn),
        unstored_assistant=_unstored_answer(turn, status),
        state_before=turn.state_before,
        state_after=turn.state_after if turn.state_after is not None else state,
        usage=_usage(attempts),
        number=turn.number,
        view=turn.view,
        rerun_of=turn.rerun_of,
        parent=turn.parent,
        owner=turn.owner,
        overflow=overflow,
        parent_call=turn.parent_call,
        children=by_call or None,
        handoff=settlement.handoff if settlement else None,
        writes=writes or None,
    )


def answered(transcript: Sequence[Item], children: Mapping[str, TurnRecord]) -> list[Item]:
    """`transcript` with error results right after each step whose calls have none (T4)."""
    complete: list[Item] = []
    for at, item in enumerate(transcript):
        complete.append(item)
        following = transcript[at + 1] if at + 1 < len(transcript) else None
        if isinstance(item, AssistantStep) and item.calls and not isinstance(following, ToolResults):
            results = tuple(
                replace(result, turn=children[result.id].turn) if result.id in children else result
                for result in not_run(item, NOT_RUN)
            )
            complete.append(ToolResults(item.step, results))
    return complete


def not_run(step: AssistantStep, why: str) -> tuple[ToolResult, ...]:
    """An error result saying `why` for every call of a step that did not run."""
    return tuple(ToolResult(call.id, call.name, why, error=True) for call in step.calls)


def _fit(context: ContextItem | None, steps: Sequence[StepRecord], settlement: Settlement | None) -> Fit | None:
    if context is None or not context.limit:  # of a turn that was not run here the limit is not known
        return None
    estimates = [step.estimate for step in steps]
    limit = context.limit
    if settlement is not None and settlement.overflow is not None:
        estimates.append(settlement.overflow.estimate)
        limit = limit if settlement.limit is None else settlement.limit
    return Fit(limit, context.reserve, max(estimates, default=0))


def _body(raw: bytes | None) -> Json:
    if raw is None:
        return None
    try:
        body: Json = json.loads(raw)
    except ValueError:
        return raw.decode("utf-8", "replace")
    return body


def _unstored(turn: Turn) -> UnstoredReason | None:
    if turn.view is not None:
        return "view-run"
    if turn.kind == "child":
        return "child-turn"
    return "brief-turn" if turn.kind == "brief" else None


def _unstored_answer(turn: Turn, status: str) -> UnstoredReason | None:
    if status == "running" or (turn.stored_assistant is not None and turn.view is None):
        return None
    return _unstored(turn) or _ENDED.get(status)


_ENDED: Mapping[str, UnstoredReason] = {
    "failed": "turn-failed",
    "cut": "turn-cut",
    "stopped": "turn-stopped",
    "truncated": "turn-truncated",
}


def _usage(attempts: Iterable[Attempt]) -> Usage:
    total = Usage()
    for attempt in attempts:
        if attempt.usage is not None:
            total = total.plus(attempt.usage)
    return total
