"""Builders of records: threads in a few words, contexts assembled as in a turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Protocol

import pytest

from runtime import history
from runtime.context import Sources, assemble
from runtime.values.agent import Agent
from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message, Role, Row, Unreadable, Window
from runtime.values.record import Fit, LeftOutReason, ToolOffered, TurnRecord
from runtime.values.usage import Usage

START = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)
ROLES: Mapping[str, Role] = {"u": "user", "a": "assistant", "t": "tool", "s": "system"}


def rows_with(*texts: str | None, first: int = 1) -> list[Row]:
    """Rows in a few words: `u hello` is a user row, `a hi` an assistant row, None one that cannot be read."""
    rows: list[Row] = []
    for seq, text in enumerate(texts, start=first):
        if text is None:
            rows.append(Unreadable(seq, "text is null", seq + 100))
        else:
            role = ROLES[text[0]]
            rows.append(Message(seq, role, text[2:], None, None, START + timedelta(minutes=seq), seq + 100))
    return rows


class TurnMaker(Protocol):
    def __call__(
        self,
        rows: Sequence[Row],
        request: str = ...,
        *,
        window: Window = ...,
        number: int = ...,
        state: JsonObject | None = ...,
        tools: Sequence[ToolOffered] = ...,
        instructions: str = ...,
        views: tuple[str, ...] = ...,
        transcript: tuple[Item, ...] = ...,
        omitted: Mapping[int, LeftOutReason] | None = ...,
        previous: tuple[str, Sequence[int]] | None = ...,
        **others: object,
    ) -> TurnRecord: ...


def _turn(
    rows: Sequence[Row],
    request: str = "",
    *,
    window: Window = 6,
    number: int = 3,
    state: JsonObject | None = None,
    tools: Sequence[ToolOffered] = (),
    instructions: str = "Answer briefly.",
    views: tuple[str, ...] = (),
    transcript: tuple[Item, ...] = (),
    omitted: Mapping[int, LeftOutReason] | None = None,
    previous: tuple[str, Sequence[int]] | None = None,
    **others: object,
) -> TurnRecord:
    """A completed envelope turn on `rows`, whose newest is its request; `others` replace fields of the record."""
    chosen = history.window(rows, window)
    unreadable = [row for row in rows if isinstance(row, Unreadable)]
    newest = rows[-1] if rows else None
    own = newest.seq if isinstance(newest, Message) and newest.role == "user" else None
    text = request or (newest.text if isinstance(newest, Message) else "")
    context = assemble(
        Agent("notes", instructions, state_views=views),
        tools,
        Sources(
            rows=chosen.kept,
            stored=len(rows),
            window=window,
            request=text,
            state=state or {},
            unreadable=[row for row in unreadable if not chosen.kept or row.seq > chosen.kept[0].seq],
            request_seq=own,
            omitted=omitted,
            previous=previous,
        ),
    )
    record = TurnRecord(
        turn=f"turn-{number}",
        thread="t1",
        origin="run",
        layout="sections",
        agent="notes",
        kind="envelope",
        window=window,
        request=text,
        at=START + timedelta(hours=number),
        seconds=0.5,
        context=context,
        fit=Fit(8192, 1024, 400),
        steps=(),
        transcript=transcript or (AssistantStep(1, "An answer."),),
        tiers=(),
        status="completed",
        reason=None,
        error=None,
        answer="An answer.",
        stored_user=own,
        stored_assistant=len(rows) + 1,
        unstored_user=None,
        unstored_assistant=None,
        state_before=state or {},
        state_after=state or {},
        usage=Usage(),
        number=number,
    )
    return replace(record, **others)  # type: ignore[arg-type]  # a builder: the fields are named by the tests


def called(name: str, arguments: JsonObject, output: Json, *, step: int = 1, text: str = "") -> tuple[Item, Item]:
    """One step that made one call, and its result."""
    call = ToolCall(f"c{step}", name, arguments)
    return AssistantStep(step, text, (call,)), ToolResults(step, (ToolResult(call.id, name, output),))


@pytest.fixture
def turn_on() -> TurnMaker:
    """Makes the record of a turn on rows."""
    return _turn


@pytest.fixture
def rows_of() -> Callable[..., list[Row]]:
    """Makes rows in a few words: `rows_of("u hello", "a hi", None)`."""
    return rows_with


@pytest.fixture
def call_of() -> Callable[..., tuple[Item, Item]]:
    """Makes a step with one call and its result."""
    return called


@pytest.fixture
def nudge_of() -> Callable[[int], Nudge]:
    return lambda step: Nudge(step, "Please answer.")
