"""Whether a turn's record meets an expectation of its seed: what does not hold, in sentences with the values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from runtime.values.items import AssistantStep
from runtime.values.record import TurnRecord
from runtime.values.seed import Check, Expectation

_SHOWN = 160


def failures(expectation: Expectation, record: TurnRecord) -> list[str]:
    """One sentence for each thing that `expectation` asks and `record` does not show; none if all holds.

    What it asks of several windows (`smallest`, `same_answer`) is no matter of one record and is left alone.
    """
    return [*_settlement(expectation, record), *_context(expectation, record), *_answer(expectation, record)]


def mismatches(check: Check, text: str, what: str) -> list[str]:
    """What of a Check does not hold of `text`, which sentences call `what`: contained texts are casefolded."""
    folded = text.casefold()
    wrong = [f"{what} lacks {part!r}" for part in check.contains if part.casefold() not in folded]
    wrong += [f"{what} contains {part!r}" for part in check.lacks if part.casefold() in folded]
    if check.matches is not None and not re.search(check.matches, text):
        wrong.append(f"{what} does not match {check.matches!r}")
    if check.equals is not None and _folded(check.equals) != _folded(text):
        wrong.append(f"{what} is not {check.equals!r}")
    return wrong


def _settlement(expectation: Expectation, record: TurnRecord) -> Iterator[str]:
    status = expectation.status or "completed"
    settled = f"{record.status} ({record.reason})" if record.reason else record.status
    if record.status != status:
        because = f": {record.error}" if record.error else ""
        yield f"the turn is {settled}, not {status}{because}"
    elif expectation.reason is not None and record.reason != expectation.reason:
        yield f"the turn is {settled}, not {status} ({expectation.reason})"


def _context(expectation: Expectation, record: TurnRecord) -> Iterator[str]:
    context = record.context
    if context is None:
        if expectation.selected is not None or expectation.context != Check():
            yield "the turn has no context"
        return
    if expectation.selected is not None and context.selected != expectation.selected:
        yield f"the context has {context.selected} of {context.stored} messages, not {expectation.selected}"
    # The rows' raw texts besides the sections: a role line inside a message is escaped where it was sent.
    rows = [row.text for row in context.rows]
    yield from mismatches(
        expectation.context, "\n".join([section.text for section in context.sections] + rows), "the context"
    )


def _answer(expectation: Expectation, record: TurnRecord) -> Iterator[str]:
    if expectation.calls is not None:
        made = tuple(call.name for item in record.transcript if isinstance(item, AssistantStep) for call in item.calls)
        if made != expectation.calls:
            yield f"the turn calls {_listed(made)}, not {_listed(expectation.calls)}"
    if expectation.answer == Check():
        return
    if record.answer is None:
        if record.status == (expectation.status or "completed"):
            yield "the turn has no answer"
        return
    for problem in mismatches(expectation.answer, record.answer, "the answer"):
        yield f"{problem}: {_cut(record.answer)!r}"


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(names) or "nothing"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
