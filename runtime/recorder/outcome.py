"""How a recorded call ended, and its turn: the attempt and the step of the journal, the settlement if there is one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.models.endpoint import Redactor
from runtime.recorder.open_turn import OpenTurn
from runtime.recorder.reading import Answer
from runtime.recorder.traffic import Ended
from runtime.values.items import AssistantStep
from runtime.values.record import PARTS, Attempt, Part, Settlement, StepItem

_TRIED_AGAIN = (408, 409, 425, 429)
_WENT_AWAY = "the program went away before the answer was complete"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a call comes to. `settlement` None: the turn goes on, its calls wait for results. `again`: programs try
    such a failure again, so the turn may yet go on. `told` is one line for people."""

    attempt: Attempt
    step: StepItem
    settlement: Settlement | None
    again: bool
    told: str


def outcome_of(
    ended: Ended, answer: Answer, step: int, model: str, parts: Mapping[Part, int], redact: Redactor
) -> Outcome:
    """The outcome of one call, the `step` of its turn. `parts` are its estimate."""
    left = ended.end == "left" and not answer.finished
    error = None if left or answer.error is None else answer.error
    said = redact(error.message) if error else None
    settlement = _settlement(answer, left, said)
    name, estimate = model or "unknown model", sum(parts.values())
    kind = "stopped" if left else error.kind if error else "ok"
    return Outcome(
        Attempt(
            step,
            name,
            kind,
            ended.status if error else None,
            said,
            estimate,
            answer.usage,
            ended.seconds,
            bool(error and error.configuration),
        ),
        StepItem(
            AssistantStep(step, answer.text, answer.calls, bool(left or error or answer.truncated), answer.opaque),
            estimate,
            dict(parts),
            ended.seconds,
        ),
        settlement,
        error is not None and _is_tried_again(ended, error.kind, answer),
        " · ".join((name, _told(kind, settlement, answer, said), f"{ended.seconds:.1f} s")),
    )


def _settlement(answer: Answer, left: bool, error: str | None) -> Settlement | None:
    if left:
        return Settlement("stopped", error=_WENT_AWAY)
    if error is not None:
        return Settlement("failed", "model-error", error)
    if answer.truncated:
        return Settlement("truncated")
    if answer.calls:
        return None
    if not answer.text.strip():
        return Settlement("failed", "no-output", "the answer held neither text nor calls")
    return Settlement("completed", answer=answer.text)


def _is_tried_again(ended: Ended, kind: str, answer: Answer) -> bool:
    """Whether the usual clients repeat the request by themselves: nothing of an answer came, and it may be better."""
    if kind == "status":
        return ended.status is not None and (ended.status in _TRIED_AGAIN or ended.status >= 500)
    return kind in ("connection", "timeout") and not answer.text


def _told(kind: str, settlement: Settlement | None, answer: Answer, error: str | None) -> str:
    if settlement is None:
        return f"calls {', '.join(call.name for call in answer.calls)}"
    if kind not in ("ok", "stopped"):
        return f"{kind}: {error}"
    return settlement.status if settlement.reason is None else f"{settlement.status} ({settlement.reason})"


def nothing_came(step: int) -> StepItem:
    """A step that was asked for and brought nothing, so that its request can be looked at."""
    return StepItem(AssistantStep(step, "", partial=True), 0, dict.fromkeys(PARTS, 0), 0.0)


def ending(turn: OpenTurn, waited: bool, why: str) -> Settlement:
    """How a turn ends that got no answer: it failed; or its calls (it `waited` for some) were all answered and the
    program wanted no more, as those do that take a call for the answer; or else `why`."""
    if turn.failure is not None:
        return turn.failure
    if waited and not turn.calls:
        return Settlement("completed")
    return Settlement("stopped", error=why)
