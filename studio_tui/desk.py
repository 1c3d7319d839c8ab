"""What lies on the desk: one thread with its turns, the turn under study, the window laid over it. No screen here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from runtime.errors import StudioError, UnknownTurn
from runtime.values.messages import Message, Row, Window
from studio_tui.turn_list import TurnList
from studio_tui.windows import same

if TYPE_CHECKING:
    from runtime.explain import WhatIf
    from runtime.handoff.masking import Mask
    from runtime.stores import Thread
    from runtime.threads import RunPlan, Runtime
    from runtime.values.agent import Agent
    from runtime.values.record import ContextItem, ContextRecord, Turn, TurnRecord
    from runtime.values.seed import Seed
    from studio_tui.live import LiveTurn

T = TypeVar("T")

NEXT = "next"
"""What is selected where the coming turn is (X3)."""

NEWEST = 64
"""How many of the newest turns are read again when the store has changed."""

EARLIER = 12
"""How many turns before the selected one are read whole, to say what of them was never stored."""

FEW = 24
"""Rows of a left-out range up to which their texts are read at once; a longer one is read when it is unfolded."""

OFF_LOOP = 2_000
"""Rows above which a what-if is counted in a thread of its own, so that the screen does not stand still."""


@dataclass(eq=False, slots=True)
class Desk:
    """The state behind the main screen.

    What it needs of the engine is imported when it is used: the frame is on the screen before that. `turns` are the
    thread's root turns and runs, oldest first; `selected` is a turn's id or `NEXT`; `inside` are the delegated turns
    entered below it. `window` is the window shown (None: as it was sent, and the agent's own for the next turn).
    `marked` are turns to be compared. `live` follows the turn that this process runs. `session` is the session with a
    project that the thread belongs to, None if it belongs to none: its agent is spoken to there.
    """

    open_runtime: Callable[[], Runtime]
    thread: Thread | None = None
    agent: Agent | None = None
    seed: Seed | None = None
    turns: TurnList = field(default_factory=TurnList)
    forks: tuple[Thread, ...] = ()
    selected: str = NEXT
    inside: tuple[str, ...] = ()
    window: Window | None = None
    marked: tuple[str, ...] = ()
    live: LiveTurn | None = None
    plan: RunPlan | None = None
    plan_problem: str = ""
    preview: ContextItem | None = None
    preview_problem: str = ""
    what_if: WhatIf | None = None
    rows: dict[int, Row] = field(default_factory=dict)
    elsewhere: str = ""
    opening: bool = False
    """Another thread is being put on it; until that is done nothing else may be."""
    session: str | None = None
    _mask: Mask | None = None
    _runtime: Runtime | None = None

    @property
    def runtime(self) -> Runtime:
        """The engine, with its store; opened when it is first needed, which is after the first painting."""
        if self._runtime is None:
            self._runtime = self.open_runtime()
        return self._runtime

    @property
    def record(self) -> TurnRecord | None:
        """The record under study: the selected turn's, or the delegated one's that was entered."""
        if self.selected == NEXT:
            return None
        record = self.whole(self.selected)
        for child in self.inside:
            below = (record.children or {}).values() if record is not None else ()
            record = next((each for each in below if each.turn == child), None)
        return record

    @property
    def root(self) -> TurnRecord | None:
        """The selected turn's record, whichever delegated turn was entered."""
        return None if self.selected == NEXT else self.whole(self.selected)

    @property
    def records(self) -> Sequence[TurnRecord]:
        """The thread's turns and runs, oldest first; those not read whole have neither context nor steps."""
        if self.live is not None and (record := self.live.record()) is not None:
            self.turns.keep(record)
        return self.turns.records

    def records_near(self) -> tuple[TurnRecord, ...]:
        """The whole records at hand of the turns just before the selected one, and its own."""
        found = (self.whole(turn.id) for turn in self._near())
        return tuple(record for record in found if record is not None)

    @property
    def runs(self) -> tuple[TurnRecord, ...]:
        """The re-runs of the selected turn (or the run's siblings), oldest first."""
        of = self.of_runs
        ids = self.turns.runs_of(of) if of is not None else []
        found = (self.whole(id) or self.turns.record(id) for id in ids)
        return tuple(record for record in found if record is not None)

    @property
    def of_runs(self) -> str | None:
        """The turn whose re-runs belong to what is selected."""
        turn = self.turn(self.selected)
        return None if turn is None else turn.rerun_of or turn.id

    @property
    def next_window(self) -> Window:
        """The window of the coming turn: the one shown, else the agent's."""
        if self.window is not None:
            return self.window
        return self.agent.window if self.agent is not None else 6

    @property
    def running(self) -> bool:
        """Whether this process runs a turn or a run of this thread."""
        return self.live is not None and self.live.settled is None

    @property
    def busy(self) -> bool:
        """Whether the thread's one place is taken, by this process or another."""
        return self.running or (
            any(
                turn.status == "running" and turn.view is None and turn.kind != "child"
                for turn in self.turns.turns[-8:]
            )
            and not self.elsewhere.startswith("interrupted")
        )

    def turn(self, id: str) -> Turn | None:
        """The turn's row, None if it is not of this thread."""
        return self.turns.get(id)

    def whole(self, id: str) -> TurnRecord | None:
        """The whole record of a turn, as it is so far if it runs here; None if it was not read yet."""
        if self.live is not None and self.live.root == id:
            return self.live.record()
        return self.turns.whole(id)

    def roots(self) -> list[Turn]:
        """The turns without the runs, oldest first."""
        return self.turns.roots

    async def open(self, thread: str, *, turn: str | None = None) -> None:
        """Put another thread on the desk, its last turn selected (`turn`: that one). Raises UnknownThread."""
        self.opening = True
        try:
            await self._open(thread, turn)
        finally:
            self.opening = False

    async def _open(self, thread: str, turn: str | None) -> None:
        store = self.runtime.store
        self.thread = await store.thread(thread)
        await self._look_up_session()
        await self.look_up_plan()
        self.turns = TurnList(self.shown(await store.turns(thread)))
        self.forks = tuple(await store.forks(thread))
        self.rows, self.marked, self.inside, self.live = {}, (), (), None
        roots = self.roots()
        await self.select(turn or (roots[-1].id if roots else NEXT))

    async def _look_up_session(self) -> None:
        """Whether the thread belongs to a session with a project, and what of it must not be read (Q3)."""
        self.session, self._mask = None, None
        if self.thread is None or not self.thread.about:
            return
        from runtime.handoff.masking import mask_of, session_of

        self.session = session_of(self.thread)
        if self.session is not None:
            self._mask = await mask_of(self.runtime.store, self.thread.id)

    def shown(self, values: Sequence[T]) -> Sequence[T]:
        """Rows, turns and records as they may stand on the screen: sensitive values masked (Q3)."""
        if not self._mask:
            return values
        from studio_tui.masked import masked

        return [masked(each, self._mask) for each in values]

    async def body(self, turn: str, step: int) -> bytes | None:
        """The body of a step's request as it was sent, sensitive values masked; None if it is gone."""
        found = await self.runtime.store.body(turn, step)
        if found is None or not self._mask:
            return found
        return self._mask.text(found.decode("utf-8", "replace")).encode()

    async def look_up_plan(self) -> None:
        """Who answers, and what a turn would execute and send where; why none can run, if none can. The thread can be
        studied all the same."""
        assert self.thread is not None
        thread = self.thread.id
        self.seed, self.agent, self.plan, self.plan_problem = None, None, None, ""
        if self.session is not None:
            return
        try:
            self.seed = await self.runtime.seed_of(thread)
            self.agent = await self.runtime.agent_of(thread)
            self.plan = await self.runtime.plan_of(thread)
        except StudioError as error:
            self.plan_problem = str(error)

    async def refresh(self) -> None:
        """Read what has changed in the store: new turns, a turn's settlement, more rows, forks."""
        if self.thread is None:
            return
        store = self.runtime.store
        self.thread = await store.thread(self.thread.id)
        await self._look_up_session()
        self.turns.take(self.shown(await store.turns(self.thread.id, limit=NEWEST)))
        self.forks = tuple(await store.forks(self.thread.id))
        if self.live is not None and self.live.settled is not None:
            self.turns.keep(self.live.settled)
            self.live = None
        await self._look_elsewhere()
        await self.select(self.selected)

    async def select(self, id: str) -> None:
        """Study another turn, or `NEXT`. Reads its record, the ones before it, and the rows the what-if needs."""
        if id != self.selected:
            self.inside = ()
        self.selected = id
        if id != NEXT:
            try:
                await self.read(id)
            except UnknownTurn:
                self.selected = NEXT
        await self.load_few()
        await self.overlay()

    async def load_few(self) -> None:
        """Read the rows of short left-out ranges, which are shown one by one."""
        record = self.record
        context = record.context if record is not None else None
        for left in context.left_out if context is not None else ():
            if left.count <= FEW:
                await self.load(left.first, left.last)

    async def read(self, id: str) -> TurnRecord:
        """The whole record of a turn or a run, read if it is not at hand. Raises UnknownTurn."""
        record = self.whole(id)
        if record is None or (record.status == "running" and not self._is_live(id)):
            (record,) = self.shown([await self.runtime.record(id, bodies=False)])
            self.turns.keep(record)
        return record

    async def read_around(self) -> bool:
        """Read the turns just before the selected one and its runs; True if any was not at hand."""
        wanted = [*(turn.id for turn in self._near()), *(run.turn for run in self.runs)]
        missing = [id for id in wanted if self.whole(id) is None]
        for id in missing:
            await self.read(id)
        return bool(missing)

    @property
    def sent_window(self) -> Window | None:
        """The window the record under study was sent with; None for the coming turn."""
        record = self.record
        return None if record is None else record.window

    async def lay(self, window: Window | None) -> None:
        """Lay another window over the record (None: take it away). The record stays what it is (X3)."""
        self.window = window
        await self.overlay()

    async def overlay(self) -> None:
        """Work out the what-if of the record under study and the window shown."""
        from runtime.explain import what_if

        record, window = self.record, self.window
        self.what_if = None
        if record is None or record.context is None or window is None or same(window, record.window):
            return
        rows = await self.rows_for(record.context, window)
        if len(rows) > OFF_LOOP:
            found = await asyncio.to_thread(what_if, record.context, rows, window)
        else:
            found = what_if(record.context, rows, window)
        if self.record is record and self.window == window:
            self.what_if = found

    async def rows_for(self, context: ContextRecord, window: Window) -> list[Row]:
        """The rows that `window` would select of what the context was selected from, unreadable ones among them."""
        last = context.stored
        if window == "all" or window >= last:
            await self.load(1, last)
            return [self.rows[seq] for seq in range(1, last + 1) if seq in self.rows]
        first = max(last - max(window, 0) + 1, 1)
        while True:
            await self.load(first, last)
            found = [self.rows[seq] for seq in range(first, last + 1) if seq in self.rows]
            short = window - sum(isinstance(row, Message) for row in found)
            if short <= 0 or first == 1:
                return found
            first = max(first - short, 1)

    async def load(self, first: int, last: int) -> None:
        """Read the rows first..last of the thread that are not at hand, a few thousand at a time."""
        if self.thread is None:
            return
        last = min(last, self.thread.length)
        missing = [seq for seq in range(first, last + 1) if seq not in self.rows]
        while missing:
            low = missing[0]
            high = min(missing[-1], low + 1_999)
            for row in self.shown(await self.runtime.store.rows(self.thread.id, low, high)):
                self.rows[row.seq] = row
            await asyncio.sleep(0)
            missing = [seq for seq in missing if seq > high]

    async def look_ahead(self, text: str) -> None:
        """What the coming turn would be sent with `text` as its request (X3). Nothing is stored or run."""
        if self.thread is None:
            return
        thread = self.thread.id
        if self.session is not None:
            self.preview, self.preview_problem = None, "who answers next is decided in the session (F9)"
            return
        try:
            found = await self.runtime.preview(thread, text, window=self.next_window)
        except StudioError as error:
            self.preview, self.preview_problem = None, str(error)
            return
        if self.thread.id == thread:
            self.preview, self.preview_problem = found, ""

    def mark(self, id: str) -> None:
        """Mark a turn for a comparison, or take the mark away; two marks at most, the oldest goes."""
        if id in self.marked:
            self.marked = tuple(each for each in self.marked if each != id)
        else:
            self.marked = (*self.marked, id)[-2:]

    async def pair(self) -> tuple[TurnRecord, TurnRecord] | None:
        """What a comparison compares: the two marked turns, else the marked and the selected one, else the turn and
        its last re-run (for a run: the turn it repeats and the run)."""
        ids = list(self.marked)
        if len(ids) == 1 and self.selected not in (NEXT, ids[0]):
            ids.append(self.selected)
        if len(ids) != 2:
            of = self.of_runs
            chosen = self.turn(self.selected)
            runs = self.runs
            if of is None or not runs or chosen is None:
                return None
            ids = [of, chosen.id if chosen.rerun_of else runs[-1].turn]
        return await self.read(ids[0]), await self.read(ids[1])

    def enter(self, child: str) -> bool:
        """Enter a delegated turn of the record under study."""
        record = self.record
        if record is None or not any(each.turn == child for each in (record.children or {}).values()):
            return False
        self.inside = (*self.inside, child)
        return True

    def leave(self) -> bool:
        """Leave the delegated turn that was entered last."""
        if not self.inside:
            return False
        self.inside = self.inside[:-1]
        return True

    def step_turn(self, by: int) -> str:
        """The id `by` places after the selected turn among the root turns, `NEXT` after the last."""
        roots = self.roots()
        here = self.turn(self.of_runs or "")
        at = roots.index(here) if here in roots else len(roots)
        to = min(max(at + by, 0), len(roots))
        return roots[to].id if to < len(roots) else NEXT

    def requests(self) -> tuple[str, ...]:
        """The requests sent on this thread, oldest first, equal neighbours once."""
        return self.turns.requests

    def _near(self) -> list[Turn]:
        """The selected turn (the last one for the coming turn) and the ones just before it."""
        at = self.turns.place(self.selected)
        end = len(self.turns) if at is None else at + 1
        return self.turns.turns[max(end - EARLIER - 1, 0) : end]

    def _is_live(self, id: str) -> bool:
        return self.live is not None and self.live.root == id

    async def _look_elsewhere(self) -> None:
        """Say what runs on the thread in another process (S7): looking settles nothing."""
        self.elsewhere = ""
        for turn in self.turns.turns[-8:]:
            if turn.status == "running" and turn.view is None and not self._is_live(turn.id):
                gone = await self.runtime.store.interrupted(turn)
                self.elsewhere = (
                    f"interrupted: the process of turn {turn.number} is gone"
                    if gone
                    else f"turn {turn.number} runs elsewhere ({turn.owner})"
                )
