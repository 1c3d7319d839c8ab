"""The loop of a turn: check the fit, call the model, record the step, run its calls, record their results (T2).

It is handed everything resolved, opened and assembled, and ends with a settlement; it never decides what a turn is
made of.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, cast

from runtime import fit
from runtime.budget import Spending
from runtime.calls import Answered, Answers, answer_all
from runtime.errors import FitOverflow, ModelError, StoreError, StudioError
from runtime.events import (
    CallBegan,
    Called,
    CallEnded,
    Ended,
    Journaled,
    Opaque,
    Sent,
    StepBegan,
    Streamed,
    TextDelta,
    TurnEvent,
    UsageReported,
    Withdrawn,
)
from runtime.fold import not_run
from runtime.guide import Ask, End, Guide
from runtime.models.chain import AttemptBegan, AttemptEnded, AttemptFailed, Chain, ChainEvent, Tier
from runtime.stores import Ledger
from runtime.streaming import Streaming
from runtime.values.agent import BudgetName
from runtime.values.items import AssistantStep, Item, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, as_text
from runtime.values.record import (
    Attempt,
    ContextItem,
    JournalBody,
    JournalItem,
    JournalKind,
    Part,
    ResultsItem,
    Settlement,
    StepItem,
    StepRecord,
    Turn,
)
from runtime.values.request import Attachment, Request, Section, SectionName, ToolSpec
from runtime.values.usage import Usage

NUDGE = "That reply was empty. Answer the request, or call one of the tools."

Emit = Callable[[TurnEvent], None]


@dataclass(frozen=True, slots=True)
class Work:
    """What a turn is made of. `keeps_state` is false for children and runs: their writes are not the thread's.

    Without a `guide` a step with text and no calls ends the turn (T2); with one, the guide says what comes next.
    """

    turn: Turn
    context: ContextItem
    sections: tuple[Section, ...]
    tools: tuple[ToolSpec, ...]
    chain: Chain
    answers: Answers
    nudges: int
    spending: Spending
    ledger: Ledger
    emit: Emit
    keeps_state: bool
    attachments: tuple[Attachment, ...] = ()
    approve: Callable[[str, Sequence[JournalItem]], Awaitable[None]] | None = None
    guide: Guide | None = None


class Loop:
    """Runs one opened turn. `journal` is everything journaled so far; `cause` says why it was interrupted, if so.

    `ended` is how its guide ended it, None without one or before that.
    """

    __slots__ = (
        "_ask",
        "_bodies",
        "_call_ids",
        "_pending",
        "_streaming",
        "_tokens",
        "_work",
        "bodies",
        "cause",
        "ended",
        "journal",
        "state",
        "step",
        "transcript",
    )

    def __init__(self, work: Work) -> None:
        self._work = work
        self.cause: Literal["", "stop", "seconds"] = ""
        self.journal: list[JournalItem] = []
        self.bodies: dict[int, bytes] = {}
        self.transcript: list[Item] = []
        self.state: dict[str, Json] = dict(work.turn.state_before)
        self.step = 0
        self._pending: list[JournalItem] = []
        self._bodies: dict[int, bytes] = {}
        self._call_ids: set[str] = set()
        self._streaming: Streaming | None = None
        self._tokens = 0
        self._ask = Ask(work.tools)
        self.ended: End | None = None

    async def run(self) -> tuple[Settlement, bool]:
        """Step until the turn ends; returns how, and whether the caller's task was cancelled from outside.

        Nothing of the settlement is stored yet: `leftover` holds the items that go with it.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        timer = loop.call_at(self._work.spending.deadline, self._interrupt, task, "seconds")
        asked_before = task.cancelling()
        try:
            settlement = await self._steps()
        except asyncio.CancelledError:
            settlement = self._interrupted()
        except FitOverflow as overflow:
            settlement = self._overflown(overflow)
        except ModelError as error:
            settlement = Settlement("failed", "model-error", str(error))
        except StoreError as error:
            settlement = Settlement("failed", "store-error", str(error))
        except Exception as fault:  # noqa: BLE001  whatever fails in between, a fault of ours too, must free the thread
            settlement = Settlement("failed", "model-error", f"{type(fault).__name__}: {fault}")
        finally:
            timer.cancel()
        if self.cause:
            task.uncancel()
        return settlement, task.cancelling() > asked_before

    def stop(self, task: asyncio.Task[object]) -> None:
        """Stop at once (T10): the turn settles `stopped`."""
        self._interrupt(task, "stop")

    def leftover(self) -> tuple[list[JournalItem], dict[int, bytes]]:
        """The items and request bodies not journaled yet: they are stored together with the settlement."""
        items, bodies = self._pending, self._bodies
        self._pending, self._bodies = [], {}
        return items, bodies

    async def _steps(self) -> Settlement:
        work = self._work
        loop = asyncio.get_running_loop()
        nudges = 0
        self._add("context", work.context)
        await self._flush()
        while True:
            if work.guide is not None and await self._guided(work.guide) is not None:
                return await self._approved()
            ran_out = work.spending.before_step(loop.time())
            if ran_out is not None:
                return self._cut(ran_out)
            self.step += 1
            step, truncated = await self._call_model()
            if truncated:
                self._skip_calls(step, "not run: the model reached its output limit")
                return Settlement("truncated", None, "the model reached its output limit")
            if step.calls:
                ran_out = work.spending.before_calls(len(step.calls), loop.time())
                if ran_out is not None:
                    self._skip_calls(step, f"not run: the budget of {_BUDGET_WORDS[ran_out]} is used up")
                    return self._cut(ran_out)
                await self._run_calls(step)
            elif not step.empty:
                if work.guide is None:
                    self.ended = End(step.text)
                    return await self._approved()
            elif nudges == work.nudges:
                often = f", {nudges + 1} times in all" if nudges else ""
                return Settlement("failed", "no-output", f"the model said nothing{often}")
            else:
                nudges += 1
                self._append("nudge", Nudge(self.step, NUDGE))
                await self._flush()

    async def _guided(self, guide: Guide) -> End | None:
        """Ask the guide what comes next; None is a model call, prepared as it wants it."""
        move = await guide.next(tuple(self.transcript), dict(self.state))
        self.state.update(move.writes)
        if isinstance(move, End):
            self.ended = move
            return move
        self._ask = move
        if move.nudge:
            self._append("nudge", Nudge(self.step, move.nudge))
            await self._flush()
        return None

    async def _call_model(self) -> tuple[AssistantStep, bool]:
        """One step through the chain of tiers; journaled, not yet flushed. Raises ModelError, FitOverflow."""
        work, turn, clock = self._work, self._work.turn, asyncio.get_running_loop().time
        now = self._streaming = Streaming(self.step, clock())
        truncated = False
        try:
            async with aclosing(cast("AsyncGenerator[ChainEvent, None]", work.chain.stream(self._prepare))) as events:
                async for event in events:
                    match event:
                        case TextDelta(text):
                            if text := now.take(text):
                                work.emit(Streamed(turn.thread, turn.id, self.step, text))
                        case Called(call):
                            now.calls.append(self._distinct(call))
                        case UsageReported(usage):
                            now.usage = usage
                        case Opaque(blocks):
                            now.opaque = blocks
                        case Sent(body, url):
                            now.url = url
                            self._bodies[self.step] = self.bodies[self.step] = body
                            now.sent = True
                        case Ended(reason):
                            truncated = reason == "length"
                        case AttemptBegan(tier, model):
                            now.model, now.url = model, ""
                            work.emit(StepBegan(turn.thread, turn.id, self.step, tier, model))
                        case AttemptFailed():
                            await self._failed(event, now)
                        case AttemptEnded(_, model, seconds):
                            self._add("attempt", self._attempt(now, "ok", seconds))
        except (ModelError, FitOverflow):
            self._add_step(AssistantStep(self.step, now.withdrawn, partial=True), now, clock() - now.began)
            raise
        step = AssistantStep(self.step, now.said, tuple(now.calls), truncated, now.opaque)
        self._add_step(step, now, clock() - now.began)
        work.spending.spend(steps=1, tokens=_used(now, step))
        self._streaming = None
        return step, truncated

    def _prepare(self, tier_number: int, tier: Tier) -> Request:
        """The request for the tier about to be called. Raises FitOverflow (F1)."""
        work = self._work
        parts = self._parts()
        estimate = sum(parts.values())
        limits = tier.limits
        if estimate + limits.reserve_tokens > limits.context_tokens:
            raise FitOverflow(
                estimate=estimate, reserve=limits.reserve_tokens, limit=limits.context_tokens, parts=_by_name(parts)
            )
        if self._streaming is not None:
            self._streaming.estimate, self._streaming.parts = estimate, parts
        return Request(
            work.sections,
            work.turn.request,
            tuple(self.transcript),
            self._ask.tools,
            limits,
            work.turn.id,
            self.step,
            tier_number,
            work.attachments,
            work.turn.number,
            self._ask.must_call,
        )

    def _parts(self) -> dict[Part, int]:
        context = self._work.context.context
        sections: dict[SectionName, int] = {section.name: section.tokens for section in context.sections}
        return fit.parts(
            sections,
            tools=self._tool_tokens(),
            transcript=self._tokens,
            attachments=fit.IMAGE_TOKENS * len(self._work.attachments),
        )

    def _tool_tokens(self) -> int:
        """What the tools offered at this step cost."""
        if self._ask.tools is self._work.tools:
            return sum(tool.tokens for tool in self._work.context.context.tools)
        return sum(map(fit.tool_tokens, self._ask.tools))

    async def _failed(self, event: AttemptFailed, now: Streaming) -> None:
        error = event.error
        attempt = Attempt(
            self.step, event.model, error.kind, error.status, str(error), now.estimate, now.usage, event.seconds,
            error.configuration, now.url,
        )  # fmt: skip
        self._add("attempt", attempt)
        if event.streamed:
            self._work.emit(Withdrawn(self._work.turn.thread, self._work.turn.id, self.step))
        now.restart()
        await self._flush()

    async def _run_calls(self, step: AssistantStep) -> None:
        work, turn = self._work, self._work.turn
        await self._flush()
        work.spending.spend(tool_calls=len(step.calls))
        for call in step.calls:
            work.emit(CallBegan(turn.thread, turn.id, step.step, call))

        def ended(result: ToolResult) -> None:
            work.emit(CallEnded(turn.thread, turn.id, step.step, result))

        state = dict(self.state)
        answers = await answer_all(
            work.answers, step.step, step.calls, state, ended=ended, keep=lambda found: self._record(step, found)
        )
        try:
            for answered in answers:
                await fit.count_large(as_text(answered.result.output))
        finally:  # stopped while they are counted: they ended all the same
            self._record(step, answers)
        await self._flush()

    def _record(self, step: AssistantStep, answers: tuple[Answered, ...]) -> None:
        """Journal the results of a step and apply their writes in call order (T4)."""
        results = ToolResults(step.step, tuple(answered.result for answered in answers))
        writes: dict[str, Json] = {}
        for answered in answers:
            writes.update(answered.writes)
        self.state.update(writes)
        self._append("results", results, writes)

    def _skip_calls(self, step: AssistantStep, why: str) -> None:
        if step.calls:
            self._append("results", ToolResults(step.step, not_run(step, why)), {})

    async def _approved(self) -> Settlement:
        """`completed`, unless the hook refuses the answer (T11)."""
        assert self.ended is not None
        answer = self.ended.answer
        if self._work.approve is not None and answer is not None:
            await self._flush()
            try:
                await self._work.approve(answer, self.journal)
            except Exception as refusal:  # noqa: BLE001  the hook is somebody else's code: whatever it raises refuses
                reason = str(refusal) or type(refusal).__name__
                return Settlement("failed", "hook-error", f"on_complete refused the answer: {reason}")
        return Settlement("completed", answer=answer, handoff=self.ended.decision)

    def _interrupt(self, task: asyncio.Task[object], cause: Literal["stop", "seconds"]) -> None:
        if not self.cause:
            self.cause = cause
            task.cancel()

    def _interrupted(self) -> Settlement:
        now = self._streaming
        if now is not None:
            seconds = asyncio.get_running_loop().time() - now.began
            step = AssistantStep(self.step, now.said, tuple(now.calls), partial=True)
            if now.model:
                self._add("attempt", self._attempt(now, "stopped", seconds))
            self._add_step(step, now, seconds)
            self._skip_calls(step, "not run: the turn was stopped")
        if self.cause == "seconds":
            return self._cut("seconds")
        return Settlement("stopped", None, "stopped by the user" if self.cause else "its task was cancelled")

    def _overflown(self, overflow: FitOverflow) -> Settlement:
        parts = self._parts()
        refused = StepRecord(self.step, overflow.estimate, parts, 0.0)
        return Settlement("failed", "fit-overflow", str(overflow), overflow=refused, limit=overflow.limit)

    def _cut(self, ran_out: BudgetName) -> Settlement:
        return Settlement("cut", ran_out, f"the budget of {_BUDGET_WORDS[ran_out]} is used up")

    def _attempt(self, now: Streaming, outcome: str, seconds: float) -> Attempt:
        return Attempt(self.step, now.model, outcome, None, None, now.estimate, now.usage, seconds, url=now.url)

    def _distinct(self, call: ToolCall) -> ToolCall:
        """The call with an id that no other call of the turn has: some servers give every call the same (C42)."""
        id = call.id or f"call_{self.step}_{len(self._call_ids) + 1}"
        while id in self._call_ids:
            id = f"{call.id or 'call'}_{self.step}_{len(self._call_ids) + 1}"
        self._call_ids.add(id)
        return call if id == call.id else ToolCall(id, call.name, call.arguments)

    def _add_step(self, step: AssistantStep, now: Streaming, seconds: float) -> None:
        self._streaming = None
        if not now.sent:
            return
        self._add("step", StepItem(step, now.estimate, now.parts, seconds))
        if not (step.partial and step.empty):
            self.transcript.append(step)
            self._tokens += fit.item_tokens(step)

    def _append(self, kind: JournalKind, item: Nudge | ToolResults, writes: Mapping[str, Json] | None = None) -> None:
        self._add(kind, item if isinstance(item, Nudge) else ResultsItem(item, writes or {}))
        self.transcript.append(item)
        self._tokens += fit.item_tokens(item)

    def _add(self, kind: JournalKind, body: JournalBody) -> None:
        n = len(self.journal) + 1
        item = JournalItem(n, self.step, kind, body)
        self.journal.append(item)
        self._pending.append(item)

    async def _flush(self) -> None:
        """Make what was added durable, then tell of it."""
        work = self._work
        items, bodies = self.leftover()
        wrote = any(item.kind == "results" for item in items)
        try:
            state = self.state if wrote and work.keeps_state else None
            await work.ledger.journal(work.turn.id, items, state=state, bodies=bodies)
        except (StudioError, asyncio.CancelledError):
            self._pending, self._bodies = items, bodies
            raise
        for item in items:
            work.emit(Journaled(work.turn.thread, work.turn.id, item))


_BUDGET_WORDS: Mapping[BudgetName, str] = {
    "steps": "model steps",
    "tool-calls": "tool calls",
    "seconds": "seconds",
    "tokens": "tokens",
}


def _by_name(parts: Mapping[Part, int]) -> dict[str, int]:
    return {str(part): tokens for part, tokens in parts.items()}


def _used(now: Streaming, step: AssistantStep) -> int:
    """Tokens a step used: what the provider reported, else our estimate of both ways (T7)."""
    usage = now.usage or Usage()
    sent = usage.input if usage.input is not None else now.estimate
    return sent + (usage.output if usage.output is not None else fit.item_tokens(step))
