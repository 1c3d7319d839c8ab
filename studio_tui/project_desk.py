"""What lies on the desk of a project: its files as checked, a session, the handoff under study, what else it could be.

No screen here. Texts that leave this file are masked (Q3).
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.abl import load_project
from runtime.abl.project import Project
from runtime.errors import BadInput, ConfigurationError, StudioError
from runtime.handoff.events import (
    HandoffEvent,
    SessionEvent,
    SessionThread,
    ThreadResume,
)
from runtime.handoff.evidence import Evidence, what_if
from runtime.handoff.masking import Mask
from runtime.values.messages import Window
from runtime.values.record import TurnRecord
from studio_tui.conversation import models_of, read_conversation
from studio_tui.gathered import source_line
from studio_tui.handoff_reading import Studied, first_turn, read_handoff
from studio_tui.masked import masked
from studio_tui.views.handed import Answers, Shown, Tried
from studio_tui.views.session import Entry, Problem, Spoken, UnderWay

if TYPE_CHECKING:
    from runtime.handoff.replay import Cost
    from runtime.handoff.session import Session, SessionNews
    from runtime.threads import Runtime

QUESTION = "What did I say earlier?"
"""What both sides are asked unless something else is typed."""

ELSEWHERE = "this target is elsewhere: it can only be asked by a message"
"""Why a remote target is not asked on the side."""

_WORST_FIRST = ("error", "warning", "info")


@dataclass(eq=False, slots=True)
class Beside:
    """The same customer messages on a fresh session with the what-if in force; `event` is the handoff there that
    stands for the one under study, None if none went to the same agent."""

    session: Session
    written: str
    event: Studied | None


@dataclass(eq=False, slots=True)
class ProjectDesk:
    """A project and one session of it.

    `chosen` is the number of the event under study (0: none), `shown` what the handoff screen shows of it. `written`
    is the HISTORY laid over it (None: none). `changed` says that the files were edited since the session began.
    """

    runtime: Runtime
    folder: Path
    project: Project | None = None
    problems: tuple[Problem, ...] = ()
    session: Session | None = None
    entries: tuple[Entry, ...] = ()
    under_way: UnderWay | None = None
    chosen: int = 0
    shown: Shown | None = None
    written: str | None = None
    typed: tuple[str, ...] = ()
    answers: Answers = field(default_factory=lambda: Answers(QUESTION))
    beside: Beside | None = None
    changed: bool = False
    models: tuple[str, ...] = ()
    _newest: int = 0
    _began: Project | None = None
    _evidence: Evidence | None = None
    _asked: dict[tuple[str, int, str], tuple[str | None, str]] = field(default_factory=dict)

    # The files

    def check(self) -> None:
        """Read and compile the project's files as they are now. Raises BadInput if the folder cannot be read."""
        project = load_project(self.folder)
        began = self._began
        self.changed = began is not None and (began.agents, began.history_default) != (
            project.agents,
            project.history_default,
        )
        self.project = project
        self.problems = tuple(
            Problem(one, source_line(self.folder / one.file, one.line))
            for one in sorted(project.diagnostics, key=lambda one: _WORST_FIRST.index(one.severity))
        )

    @property
    def runs(self) -> bool:
        """Whether the files as they are now make a project that runs (H6)."""
        return self.project is not None and self.project.runs

    # The session

    async def begin(self, *, agent: str = "", window: Window | None = None) -> None:
        """A fresh session; `window` is that of every turn (None: all, as agents written in ABL have).

        Raises ConfigurationError for a project with errors, BadInput for an unknown agent.
        """
        from runtime.handoff.session import Session

        assert self.project is not None
        if not self.runs:
            raise ConfigurationError("the project has errors; mend them first (e opens the line)")
        self._forget()
        self.session = await Session.open(
            self.runtime, self.project, agent or None, window="all" if window is None else window
        )
        self._began, self.changed = self.project, False
        await self.refresh()

    async def reopen(self, session: str) -> None:
        """Go on with a session of the store. Raises UnknownThread, ConfigurationError, BadInput."""
        from runtime.handoff.session import Session

        self._forget()
        self.session = await Session.reopen(self.runtime, session)
        self.folder = self.session.project.folder
        self._began = None
        self.check()
        self._began = self.project
        await self.refresh()

    def speak(self, text: str) -> AsyncIterator[SessionNews]:
        """Say something as the customer; the events of the turns it opens, and at last what was said (H14)."""
        assert self.session is not None
        self.under_way = UnderWay(masked(text, self.session.mask), self.speaking)
        return self.session.stream(text)

    def tell(self, event: SessionNews) -> None:
        """Take in what a turn says while it runs."""
        from runtime.events import Opened, Streamed, Withdrawn

        now = self.under_way or UnderWay()
        mask = self._mask
        if isinstance(event, Opened):
            self.under_way = replace(now, agent=event.turn.agent, text="")
        elif isinstance(event, Streamed):
            self.under_way = replace(now, text=mask.text(now.text + event.text))
        elif isinstance(event, Withdrawn):
            self.under_way = replace(now, text="")

    async def refresh(self) -> None:
        """Read the conversation anew."""
        session = self.session
        if session is None:
            self.entries = ()
            return
        self.entries = await read_conversation(self.runtime, session, self.events)
        self.models = await models_of(self.runtime, session)
        newest = self.handoffs[-1].n if self.handoffs else 0
        if newest > self._newest:
            self._newest = newest
            await self.choose(newest)

    @property
    def threads(self) -> tuple[SessionThread, ...]:
        """The session's threads, callers before those they called."""
        return tuple(self.session.threads) if self.session is not None else ()

    @property
    def events(self) -> tuple[SessionEvent, ...]:
        """What happened between the agents, masked."""
        mask = self._mask
        return tuple(masked(one, mask) for one in self.session.events) if self.session is not None else ()

    @property
    def handoffs(self) -> tuple[Studied, ...]:
        """The events that can be studied: handoffs and resumed threads, in order."""
        return tuple(one for one in self.events if isinstance(one, HandoffEvent | ThreadResume))

    @property
    def speaking(self) -> str:
        """The agent that is spoken to now."""
        return next((one.agent for one in self.threads if one.status == "active"), "")

    @property
    def customer_messages(self) -> int:
        """How many messages the customer has said."""
        return sum(isinstance(one, Spoken) and one.row.role == "user" for one in self.entries)

    # The handoff under study

    async def choose(self, n: int) -> None:
        """Study the event `n`; nothing is tried over it yet but its first other setting."""
        event = next((one for one in self.handoffs if one.n == n), None)
        if event is None:
            return
        if n != self.chosen:
            self.beside, self.typed = None, ()
            self.answers = Answers(self.answers.question)
        self.chosen = n
        assert self.session is not None
        self.shown, self._evidence = await read_handoff(self.runtime, self.session, self.folder, n)
        remote = isinstance(event, HandoffEvent) and event.remote
        if self.answers.in_force is None:
            answers = await self._with_costs(self.answers)
            self.answers = replace(answers, problem=ELSEWHERE if remote else "")
        force = event.strategy if isinstance(event, HandoffEvent) else ""
        self.lay(next((one for one in self.choices if one != force), None) if force else None)

    @property
    def choices(self) -> tuple[str, ...]:
        """The settings that `h` goes through: the named ones, the count that was written (else 6), those typed."""
        event = next((one for one in self.handoffs if one.n == self.chosen), None)
        force = event.strategy if isinstance(event, HandoffEvent) else ""
        count = force if force.startswith("last_") else "last_6"
        return tuple(dict.fromkeys(("none", count, "full", "summary_only", "auto", *self.typed)))

    def lay(self, written: str | None) -> None:
        """Lay another HISTORY over the record (None: take it away). The record stays what it is (X3)."""
        if written is not None and written not in self.choices:
            self.typed = (*self.typed, written)[-3:]
        if written != self.written:
            self.beside = None
            self.answers = replace(self.answers, what_if=None)
        self.written = written
        if self.shown is None:
            return
        tried = None
        if written is not None and self._evidence is not None and not self.shown.resumed:
            found = what_if(self._evidence, written)
            tried = Tried(written, found.force, found.copying)
        self.shown = replace(self.shown, tried=tried)

    def next_choice(self, by: int = 1) -> str:
        """The setting after the one that is tried."""
        choices = self.choices
        at = choices.index(self.written) if self.written in choices else (-1 if by > 0 else 0)
        return choices[(at + by) % len(choices)]

    def next_handoff(self, by: int) -> int:
        """The number of the handoff `by` places on; the ends stay."""
        numbers = [one.n for one in self.handoffs]
        at = numbers.index(self.chosen) if self.chosen in numbers else 0
        return numbers[min(max(at + by, 0), len(numbers) - 1)] if numbers else 0

    @property
    def names(self) -> tuple[str, str]:
        """What is in force and what is tried, for the two sides of the probe."""
        event = self.shown.event if self.shown is not None else None
        return (event.strategy if isinstance(event, HandoffEvent) else "own history", self.written or "")

    # Asking both sides, and replaying

    async def probe(self, question: str | None = None) -> None:
        """Ask the target, and the one beside it, the same question, on views: nothing is stored."""
        question = question or self.answers.question
        assert self.session is not None
        assert self.shown is not None
        answers = await self._with_costs(Answers(question))
        answer, problem = await self._ask(self.session, self.shown.event, question)
        self.answers = replace(answers, in_force=answer, problem=problem)
        if self.beside is not None and self.beside.event is not None:
            answer, problem = await self._ask(self.beside.session, self.beside.event, question)
            self.answers = replace(
                self.answers, what_if=answer if answer is not None else problem, what_if_name=self.beside.written
            )

    async def replay(self) -> None:
        """The same customer messages on a fresh session, with the what-if as the route's HISTORY (X4).

        Without a what-if, or when the files were edited, the project as it is written now.
        """
        assert self.session is not None
        assert self.shown is not None
        event = self.shown.event
        if self.changed or self.written is None:
            written, session = "as edited" if self.changed else "the same again", await self._said_again()
        else:
            from runtime.handoff.replay import replay

            written = self.written
            session = (await replay(self.session, route=event.route, history=written)).session
        same = [one for one in session.events if isinstance(one, HandoffEvent | ThreadResume)]
        mine = [one for one in self.handoffs if one.target == event.target]
        theirs = [one for one in same if one.target == event.target]
        at = next((n for n, one in enumerate(mine) if one.n == event.n), 0)
        self.beside = Beside(session, written, theirs[at] if at < len(theirs) else None)
        if self.beside.event is None:
            said = f"with {written} no message was handed to {event.target}"
            self.answers = replace(self.answers, what_if=said, what_if_name=written)
        else:
            await self.probe()

    async def pair(self) -> tuple[TurnRecord, TurnRecord]:
        """The target's first turn here and in the session beside. Raises BadInput if there is no such pair."""
        if self.beside is None or self.shown is None or self.session is None:
            raise BadInput("nothing stands beside it: ^r replays the same messages first")
        here = self.shown.first
        there = await first_turn(self.runtime, self.beside.session, self.beside.event)
        if here is None or there is None:
            raise BadInput("one of the two has no first turn here")
        return here, there

    async def costs(self) -> Cost:
        """What a replay is about to take, by what it took the first time (X4)."""
        from runtime.handoff.replay import cost_of

        assert self.session is not None
        return await cost_of(self.session)

    def edited_line(self) -> tuple[str, int] | None:
        """The file (below the folder) and line of what is to be mended in the handoff under study."""
        if self.shown is None:
            return None
        file, _, line = self.shown.mend_at.rpartition(":")
        return (file, int(line)) if line.isdigit() else None

    async def body(self, turn: str, step: int) -> bytes | None:
        """The request body of a step as it was sent, sensitive values masked; None if it is gone."""
        found = await self.runtime.store.body(turn, step)
        return None if found is None else self._mask.text(found.decode("utf-8", "replace")).encode()

    # Within

    @property
    def _mask(self) -> Mask:
        return self.session.mask if self.session is not None else Mask()

    def _forget(self) -> None:
        self.chosen, self.shown, self.written, self.beside, self.typed = 0, None, None, None, ()
        self.entries, self.under_way, self._evidence = (), None, None
        self.answers, self._newest = Answers(QUESTION), 0

    async def _said_again(self) -> Session:
        """A fresh session of the project as it is written now, in which the customer says the same."""
        from runtime.handoff.session import Session

        assert self.session is not None
        settings = self.session.settings
        session = await Session.open(
            self.runtime,
            self.project if self.changed and self.project is not None else self.session.project,
            self.session.first_agent,
            history_default=settings.history_default,
            model=settings.model,
            window=settings.window,
            state=self.session.given,
            replay_of=self.session.id,
        )
        for text in await self.session.messages():
            if not (await session.say(text)).completed:
                break
        return session

    async def _ask(self, session: Session, event: Studied, question: str) -> tuple[str | None, str]:
        """The answer of a target, or why there is none; the same question on the same rows is asked once."""
        rows = next((one.rows for one in session.threads if one.id == event.thread), 0)
        key = (event.thread, rows, question)
        if key not in self._asked:
            self._asked[key] = await self._ask_anew(session, event, question)
        return self._asked[key]

    async def _ask_anew(self, session: Session, event: Studied, question: str) -> tuple[str | None, str]:
        if isinstance(event, HandoffEvent) and event.remote:
            return None, ELSEWHERE
        try:
            record = await session.probe(event.thread, question)
        except StudioError as error:
            return None, str(error)
        if record.answer is None:
            return None, record.error or f"no answer: {record.reason or record.status}"
        return session.mask.text(record.answer), ""

    async def _with_costs(self, answers: Answers) -> Answers:
        cost = await self.costs()
        return replace(answers, messages=cost.messages, calls=cost.model_calls, remote=cost.remote_calls)
