"""One turn from its opening to its record: open, assemble, loop, settle. The same for roots, runs and children."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from runtime import context
from runtime.budget import Spending
from runtime.calls import Altered, Answered, Answers, CallKey, Live
from runtime.errors import StoreError, StudioError
from runtime.events import Opened, Settled, TurnEvent
from runtime.fold import fold
from runtime.guide import Guide
from runtime.leases import Leases
from runtime.models.chain import Chain
from runtime.plan import Plan, Resolver
from runtime.records import selected_before
from runtime.source import Source
from runtime.stores import Ledger, NewTurn
from runtime.turn import Emit, Loop, Work
from runtime.values.items import ToolCall, ToolResult
from runtime.values.json import Json, JsonObject
from runtime.values.messages import NewMessage
from runtime.values.record import ContextItem, JournalItem, LeftOutReason, Settlement, Turn, TurnRecord
from runtime.values.request import Attachment
from runtime.values.seed import Seed

_REMEMBERED = 512
"""Threads whose last selection is kept at hand; of others it is read from the journal."""

OnComplete = Callable[[TurnRecord], Awaitable[None] | None]


@dataclass(frozen=True, slots=True)
class Asked:
    """A turn to run: what to open, with what, on which rows. `answers` None runs the agent's tools live.

    `shown` is what state views show instead of the state's values, `instead` what calls get as their result instead
    of what a tool gave (by call, and how many were like it before; None: it is left out). Both are an experiment's.
    `model` is the one tier of every agent of the run, its delegates too; None leaves each its own chain.
    """

    new: NewTurn
    plan: Plan
    source: Source
    seed: Seed | None = None
    message: NewMessage | None = None
    answers: Answers | None = None
    attachments: tuple[Attachment, ...] = ()
    above: tuple[str, ...] = ()
    previous: tuple[str, Sequence[int]] | None = None
    shown: Mapping[str, str] | None = None
    instead: Mapping[tuple[CallKey, int], str | None] | None = None
    guide: Guide | None = None
    model: str | None = None


@dataclass(slots=True)
class Running:
    """A turn of this process that is under way, from its opening until its end is stored.

    `loop` is None while its context is assembled. `stopped` says that the user stopped it then; `ended` that only its
    settlement is left to be stored, and nothing to be stopped.
    """

    turn: Turn
    task: asyncio.Task[object]
    loop: Loop | None = None
    stopped: bool = False
    ended: bool = False

    def stop(self) -> None:
        """Stop at once (T10); what has ended stays as it ended."""
        if self.loop is not None and not self.ended:
            self.loop.stop(self.task)
        elif self.loop is None and not self.stopped:
            self.stopped = True
            self.task.cancel()


class Engine:
    """Runs turns on a ledger. One per Runtime; holds the turns under way and the settlements a store refused."""

    def __init__(self, ledger: Ledger, resolver: Resolver, on_complete: OnComplete | None = None) -> None:
        self.ledger = ledger
        self.resolver = resolver
        self.running: dict[str, Running] = {}
        self._on_complete = on_complete
        self._leases = Leases(ledger)
        self._selected: dict[str, tuple[int, str, tuple[int, ...]]] = {}
        self._unsettled: dict[str, Callable[[], Awaitable[Turn]]] = {}

    async def run(self, asked: Asked, emit: Emit) -> TurnRecord:
        """Open and run one turn to its record; what is told on the way goes to `emit`.

        Raises whatever refuses it before it opens (nothing is stored then), StoreError if its end could not be
        stored, and CancelledError, once it has settled `stopped`, if the caller's task was cancelled.
        """
        await self._settle_leftovers(asked.new.thread)
        turn = await self.ledger.open_turn(asked.new, asked.message)
        emit(Opened(turn))
        spending = Spending(asked.plan.agent.budget, asyncio.get_running_loop().time())
        return await self._run_opened(asked, turn, spending, emit)

    async def assemble(self, asked: Asked, turn: Turn, request_seq: int | None) -> ContextItem:
        """The opening context of `turn` as it would be sent."""
        selected = await asked.source.select(self.ledger, asked.new.window)
        sources = context.Sources(
            rows=selected.rows,
            stored=selected.stored,
            window=asked.new.window,
            request=turn.request,
            state={**turn.state_before, **asked.shown} if asked.shown else turn.state_before,
            unreadable=selected.unreadable,
            request_seq=request_seq,
            omitted=_omitted(asked, request_seq),
            previous=asked.previous if _off_thread(turn) else await self._previous(turn),
        )
        await context.count_large_texts(sources)
        limits = asked.plan.tiers[0].limits
        record = context.assemble(asked.plan.agent, asked.plan.offered, sources)
        return ContextItem(record, limits.context_tokens, limits.reserve_tokens)

    async def preview(self, asked: Asked) -> ContextItem:
        """The opening context of a run on a view that is not opened."""
        new = asked.new
        turn = Turn(
            "", new.thread, new.kind, new.agent, new.window, new.request, datetime.now(UTC), new.state or {},
            view=new.view,
        )  # fmt: skip
        return await self.assemble(asked, turn, _request_seq(asked, turn))

    async def _run_opened(self, asked: Asked, turn: Turn, spending: Spending, emit: Emit) -> TurnRecord:
        task = asyncio.current_task()
        assert task is not None
        running = self.running[turn.id] = Running(turn, task)
        self._leases.hold(turn.id)
        try:
            return await self._run_to_its_end(asked, running, spending, emit)
        finally:
            del self.running[turn.id]

    async def _run_to_its_end(self, asked: Asked, running: Running, spending: Spending, emit: Emit) -> TurnRecord:
        turn = running.turn
        children: list[TurnRecord] = []
        try:
            opening = await self.assemble(asked, turn, _request_seq(asked, turn))
        except (StudioError, asyncio.CancelledError) as error:
            record = await self._settle_unopened(running, error, emit)
            if running.stopped and not running.task.uncancel():
                return record
            raise
        if not _off_thread(turn):
            if len(self._selected) >= _REMEMBERED:
                self._selected.clear()
            self._selected[turn.thread] = (turn.number, turn.id, tuple(row.seq for row in opening.context.rows))
        loop = running.loop = Loop(self._work(asked, turn, opening, spending, emit, children))
        settlement, cancelled = await loop.run()
        running.ended = True
        settled, also_cancelled = await self._settle(turn, loop, settlement)
        record = fold(settled, loop.journal, bodies=loop.bodies, children=children)
        emit(Settled(record))
        if cancelled or also_cancelled:
            raise asyncio.CancelledError
        return record

    def _work(
        self,
        asked: Asked,
        turn: Turn,
        opening: ContextItem,
        spending: Spending,
        emit: Emit,
        children: list[TurnRecord],
    ) -> Work:
        async def delegate(step: int, call: ToolCall, state: JsonObject) -> Answered:
            return await self._delegate(asked, turn, spending, emit, children, step, call, state)

        async def approve(answer: str, journal: Sequence[JournalItem]) -> None:
            await self._ask_hook(turn, answer, journal, children)

        plan = asked.plan
        answers = asked.answers or Live(plan.tools, frozenset(plan.delegates), delegate)
        return Work(
            turn=turn,
            context=opening,
            sections=context.sections_of(opening.context),
            tools=plan.specs,
            chain=Chain(plan.tiers),
            answers=Altered(answers, asked.instead) if asked.instead else answers,
            nudges=plan.agent.nudges,
            spending=spending,
            ledger=self.ledger,
            emit=emit,
            keeps_state=not _off_thread(turn),
            attachments=asked.attachments,
            approve=approve if self._on_complete is not None and turn.kind != "child" else None,
            guide=asked.guide,
        )

    async def _delegate(
        self,
        parent: Asked,
        turn: Turn,
        spending: Spending,
        emit: Emit,
        children: list[TurnRecord],
        step: int,
        call: ToolCall,
        state: JsonObject,
    ) -> Answered:
        """Run a delegate as a child turn on the same rows; its output is the call's result (T8)."""
        given = call.arguments if isinstance(call.arguments, Mapping) else {}
        brief = given.get("brief")
        if not isinstance(brief, str) or not brief.strip() or len(given) > 1:
            problem = f"{call.name} takes one argument, brief: a text that says what to do"
            return Answered(ToolResult(call.id, call.name, problem, error=True))
        agent = parent.plan.delegates[call.name]
        above = (*parent.above, parent.plan.agent.name)
        source = parent.source if parent.new.view else Source(turn.thread, turn.stored_user)
        new = NewTurn(
            turn.thread, "child", agent.name, agent.window, brief,
            owner=parent.new.owner, view=parent.new.view, parent=turn.id, parent_step=step, parent_call=call.id,
            state=state, experiment=parent.new.experiment, cell=parent.new.cell,
        )  # fmt: skip
        clock = asyncio.get_running_loop().time
        began = clock()
        try:
            plan = self.resolver.plan(agent, parent.seed, model=parent.model, above=above)
            child = await self.ledger.open_turn(new)
        except StudioError as error:
            return Answered(ToolResult(call.id, call.name, str(error), error=True, seconds=clock() - began))
        emit(Opened(child))
        asked = replace(
            parent,
            new=new,
            plan=plan,
            source=source,
            message=None,
            answers=None,
            attachments=(),
            above=above,
            previous=None,
            shown=None,
            instead=None,
            guide=None,
        )
        inside = Spending(agent.budget, began, parent=spending)

        def keep(event: TurnEvent) -> None:
            if isinstance(event, Settled) and event.turn == child.id:
                children.append(event.record)
            emit(event)

        try:
            record = await self._run_opened(asked, child, inside, keep)
        except asyncio.CancelledError:
            # The turn above was stopped, and waits for this call. What the child had written by then stays (T4).
            stopped = next((one for one in children if one.turn == child.id), None)
            if stopped is None:
                raise
            record = stopped
        return _child_answer(call, record, clock() - began)

    async def _ask_hook(
        self, turn: Turn, answer: str, journal: Sequence[JournalItem], children: Sequence[TurnRecord]
    ) -> None:
        assert self._on_complete is not None
        ending = JournalItem(len(journal) + 1, 0, "settlement", Settlement("completed", answer=answer))
        verdict = self._on_complete(fold(turn, (*journal, ending), children=children))
        if inspect.isawaitable(verdict):
            await verdict

    async def _settle(self, turn: Turn, loop: Loop, settlement: Settlement) -> tuple[Turn, bool]:
        """Store the end of a turn; returns the settled turn and whether the task was cancelled meanwhile.

        A settlement the store refuses is kept, so that the thread is freed when the store answers again.
        """
        items, bodies = loop.leftover()
        rows, message = _rows_of(turn, loop, settlement)

        def settle(how: Settlement, rows: Sequence[NewMessage] = (), row: NewMessage | None = None) -> Awaitable[Turn]:
            return self.ledger.settle(turn.id, items, how, rows=rows, message=row, state=loop.state, bodies=bodies)

        try:
            settled, cancelled = await _through_cancellation(lambda: settle(settlement, rows, message))
        except StoreError as error:
            failed = Settlement("failed", "store-error", str(error))
            try:
                settled, cancelled = await _through_cancellation(lambda: settle(failed))
            except StoreError:
                self._unsettled[turn.thread] = lambda: settle(failed)
                raise
            settlement = failed
        finally:
            self._leases.release(turn.id)
        loop.journal.append(JournalItem(len(loop.journal) + 1, loop.step, "settlement", settlement))
        return settled, cancelled

    async def _settle_unopened(self, running: Running, error: BaseException, emit: Emit) -> TurnRecord:
        """End a turn whose context could not be assembled; its request stays stored."""
        turn = running.turn
        running.ended = True
        settlement = Settlement("failed", "store-error", str(error))
        if isinstance(error, asyncio.CancelledError):
            by = "stopped by the user" if running.stopped else "its task was cancelled"
            settlement = Settlement("stopped", None, by)

        def settle() -> Awaitable[Turn]:
            return self.ledger.settle(turn.id, (), settlement, state=turn.state_before)

        try:
            settled, _ = await _through_cancellation(settle)
        except StoreError:
            self._unsettled[turn.thread] = settle
            raise
        finally:
            self._leases.release(turn.id)
        record = fold(settled, (JournalItem(1, 0, "settlement", settlement),))
        emit(Settled(record))
        return record

    async def _settle_leftovers(self, thread: str) -> None:
        settle = self._unsettled.get(thread)
        if settle is not None:
            await settle()  # of two that come at once the second settles nothing
            if self._unsettled.get(thread) is settle:
                del self._unsettled[thread]

    async def _previous(self, turn: Turn) -> tuple[str, Sequence[int]] | None:
        """The root turn before `turn` on its thread, with the seqs it selected."""
        known = self._selected.get(turn.thread)
        if known is not None and known[0] == turn.number - 1:
            return known[1], known[2]
        before = [one for one in await self.ledger.turns(turn.thread, runs=False, limit=2) if one.id != turn.id]
        return await selected_before(self.ledger, before[-1].id) if before else None


async def _through_cancellation(settle: Callable[[], Awaitable[Turn]]) -> tuple[Turn, bool]:
    """Await a settlement to its end: a cancellation is remembered, not obeyed, until the turn's end is stored (T10).

    The store's transaction is one piece; only its wait for a lock can be interrupted, and is begun again.
    """
    cancelled = False
    while True:
        try:
            return await settle(), cancelled
        except asyncio.CancelledError:
            cancelled = True


def _off_thread(turn: Turn) -> bool:
    """Children and runs on views: they leave nothing on the thread, and nothing entered or fell out before them."""
    return turn.kind == "child" or turn.view is not None


def _omitted(asked: Asked, request_seq: int | None) -> Mapping[int, LeftOutReason]:
    """The rows to leave out by seq: an experiment's (X7), and in ABL threads that of the request (H13)."""
    omitted: dict[int, LeftOutReason] = dict(asked.source.dropped)
    if asked.guide is not None and request_seq is not None:
        omitted[request_seq] = "is-request"
    return omitted


def _rows_of(turn: Turn, loop: Loop, settlement: Settlement) -> tuple[Sequence[NewMessage], NewMessage | None]:
    """What a turn stores as it settles: its answer (S5b), in an ABL thread after its tool rows (H14)."""
    ended = loop.ended
    if settlement.status != "completed" or ended is None or turn.view is not None or turn.parent is not None:
        return (), None
    if ended.decision is None and turn.kind != "envelope":
        return (), None
    return ended.rows, None if ended.answer is None else NewMessage("assistant", ended.answer)


def _request_seq(asked: Asked, turn: Turn) -> int | None:
    """The row that is also the request, by seq, never by equal text (A4)."""
    if turn.kind != "envelope":
        return None
    if turn.view is not None:
        return turn.view.upto + 1
    return turn.stored_user


def _child_answer(call: ToolCall, record: TurnRecord, seconds: float) -> Answered:
    writes: dict[str, Json] = {
        name: value for name, value in record.state_after.items() if record.state_before.get(name, _UNSET) != value
    }
    if record.status == "completed":
        return Answered(ToolResult(call.id, call.name, record.answer, seconds=seconds, turn=record.turn), writes)
    why = f"{call.name} did not answer: {record.error or record.status}"
    return Answered(ToolResult(call.id, call.name, why, error=True, seconds=seconds, turn=record.turn), writes)


_UNSET = object()
