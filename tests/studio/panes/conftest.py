"""Builders of records for the panes: a turn on a thread in a few words, its context assembled as in a real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import pytest

from runtime import history
from runtime.context import Sources, assemble
from runtime.values.agent import Agent
from runtime.values.items import AssistantStep, Item
from runtime.values.messages import Message, Role, Row, Unreadable, Window
from runtime.values.record import Attempt, Fit, LeftOutReason, StepRecord, ToolOffered, TurnRecord
from runtime.values.usage import Usage
from studio_tui.views.lines import Pane

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
ROLES: Mapping[str, Role] = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}

FRIDAY = (
    "u The Friday draft is due on the 5th, please remember that",
    "a Noted.",
    "u My tea is getting cold",
    "a Noted.",
    "u The printer on floor two is out of paper",
    "a Noted.",
    "u Tuesday is for calls",
    "a Noted.",
    "u Please move the review to Thursday",
    "a Moved to Thursday.",
    "u Summarize my notes: Monday, plan; Tuesday, calls; Thursday, review",
    "a Your notes cover the Friday draft.",
    "u When is it due?",
    "u What about the draft?",
)
"""The thread of the pictures: fourteen rows, the due date in the first, no reply to the thirteenth."""


class Rows(Protocol):
    def __call__(self, *texts: str | None) -> list[Row]: ...


class Turns(Protocol):
    def __call__(
        self,
        rows: Sequence[Row],
        *,
        window: Window = ...,
        number: int = ...,
        transcript: tuple[Item, ...] = ...,
        previous: tuple[str, Sequence[int]] | None = ...,
        omitted: Mapping[int, LeftOutReason] | None = ...,
        tools: Sequence[ToolOffered] = ...,
        state: Mapping[str, str] = ...,
        **others: Any,
    ) -> TurnRecord: ...


def rows_of(*texts: str | None) -> list[Row]:
    """Rows in a few words: `u hello` is a user row, `a hi` an assistant row, None one that cannot be read."""
    rows: list[Row] = []
    for seq, text in enumerate(texts, start=1):
        if text is None:
            rows.append(Unreadable(seq, "text is null", seq + 100))
        else:
            at = START + timedelta(minutes=seq)
            rows.append(Message(seq, ROLES[text[0]], text[2:], None, None, at, seq + 100))
    return rows


def turn_on(
    rows: Sequence[Row],
    *,
    window: Window = 6,
    number: int = 3,
    transcript: tuple[Item, ...] = (AssistantStep(1, "An answer."),),
    previous: tuple[str, Sequence[int]] | None = None,
    omitted: Mapping[int, LeftOutReason] | None = None,
    tools: Sequence[ToolOffered] = (),
    state: Mapping[str, str] | None = None,
    **others: Any,
) -> TurnRecord:
    """A completed turn whose request is the newest of `rows`; `others` replace fields of the record."""
    chosen = history.window(rows, window)
    unreadable = [row for row in rows if isinstance(row, Unreadable)]
    newest = rows[-1]
    assert isinstance(newest, Message)
    before = dict(state or {})
    context = assemble(
        Agent("notes", "Answer from the notes alone.", state_views=tuple(before)),
        tools,
        Sources(
            rows=chosen.kept,
            stored=len(rows),
            window=window,
            request=newest.text,
            state=before,
            unreadable=[row for row in unreadable if not chosen.kept or row.seq > chosen.kept[0].seq],
            request_seq=newest.seq,
            omitted=omitted,
            previous=previous,
        ),
    )
    estimate = sum(section.tokens for section in context.sections)
    steps = sorted({item.step for item in transcript})
    record = TurnRecord(
        turn=f"turn-{number}",
        thread="7f3a",
        origin="run",
        layout="sections",
        agent="notes",
        kind="envelope",
        window=window,
        request=newest.text,
        at=START + timedelta(hours=number),
        seconds=0.5,
        context=context,
        fit=Fit(8192, 1024, estimate),
        steps=tuple(StepRecord(step, estimate, {"history": estimate}, 0.25) for step in steps),
        transcript=transcript,
        tiers=tuple(Attempt(step, "offline", "ok", estimate=estimate) for step in steps),
        status="completed",
        reason=None,
        error=None,
        answer=transcript[-1].text if transcript and isinstance(transcript[-1], AssistantStep) else None,
        stored_user=newest.seq,
        stored_assistant=newest.seq + 1,
        unstored_user=None,
        unstored_assistant=None,
        state_before=before,
        state_after=before,
        usage=Usage(),
        number=number,
    )
    return replace(record, **others)


@pytest.fixture
def rows() -> Rows:
    return rows_of


@pytest.fixture
def turn() -> Turns:
    return turn_on


@pytest.fixture
def friday() -> list[Row]:
    return rows_of(*FRIDAY)


def plain_of(pane: Pane) -> list[str]:
    """The lines of a pane as text: indent, what is at the left, what is at the right after a bar."""
    told = []
    for line in pane.lines:
        right = "".join(span.text for span in line.right)
        text = " " * line.indent + line.text
        told.append(
            (f"{line.fill} {text} {line.fill}" if line.fill else text.rstrip()) + (f" | {right}" if right else "")
        )
    return told


class Plain(Protocol):
    def __call__(self, pane: Pane) -> list[str]: ...


@pytest.fixture
def plain() -> Plain:
    return plain_of
