"""The app: holds the jobs and the desk, finds what is to be opened, routes between screens."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from textual.app import App, SystemCommand
from textual.screen import Screen

from runtime.errors import BadInput, StudioError
from runtime.values.messages import read_window
from studio_tui import actions, clipboard, targets, themes
from studio_tui.desk import Desk
from studio_tui.editing import Editor, in_terminal
from studio_tui.experimenting import Experimenter
from studio_tui.importing import AsksOnScreen, Progress
from studio_tui.jobs import Job, Jobs, sentence
from studio_tui.screens.main_view import MainView
from studio_tui.screens.thread import ThreadScreen
from studio_tui.screens.workbench import Workbench
from studio_tui.targets import Place
from studio_tui.turn_runner import GROUP, TurnRunner

if TYPE_CHECKING:
    from runtime.events import TurnEvent
    from runtime.threads import Runtime
    from studio_tui.project_desk import ProjectDesk
    from studio_tui.screens.picker import Pick


@runtime_checkable
class HasCommands(Protocol):
    """A screen with keys of its own, which the palette lists."""

    def commands(self) -> Iterable[tuple[str, str, str]]:
        """What can be done now: its words, its key, the action of the screen."""
        ...


class StudioApp(App[None]):
    """One desk, one turn at a time, every long piece of work a job of this app."""

    CSS_PATH = "studio.tcss"
    TITLE = "Studio"
    ENABLE_COMMAND_PALETTE = True

    def __init__(
        self,
        open_runtime: Callable[[], Runtime],
        *,
        store_url: str,
        target: str | None = None,
        seed: str | None = None,
        agent: str | None = None,
        window: str | None = None,
    ) -> None:
        super().__init__()
        for theme in themes.THEMES:
            self.register_theme(theme)
        self.theme = themes.wanted()
        self.desk = Desk(open_runtime, opening=target is not None or seed is not None)
        self.desk.window = None if window is None else read_window(window, field="--window")
        self.jobs = Jobs(self)
        self.runner = TurnRunner(self.desk, self.jobs, self._told)
        self.experiments = Experimenter(self.jobs)
        self.stamp = 0
        self.editor: Editor = in_terminal(self)
        self.project: ProjectDesk | None = None
        self.failure: StudioError | None = None
        self.came_from: str | None = None
        self._store_url = store_url
        self._target, self._seed, self._agent = target, seed, agent
        self._folder = Path.cwd()

    # What runs

    @property
    def turn_job(self) -> Job | None:
        """The job that runs a turn or a re-run."""
        return self.runner.job

    @property
    def other_job(self) -> Job | None:
        """Other work that a person waits for."""
        others = (job for job in self.jobs.running() if job.group != GROUP and not job.group.startswith("ahead"))
        return next(others, None)

    @property
    def runs_something(self) -> bool:
        """Whether there is anything to stop."""
        other = self.other_job
        return self.turn_job is not None or (other is not None and other.seconds > 1)

    async def stop(self) -> bool:
        """Stop the running turn, else the work under way; False if nothing runs."""
        if await self.runner.stop():
            return True
        other = self.other_job
        if other is not None:
            other.stop()
        return other is not None

    def _told(self, event: TurnEvent) -> None:
        self.main.told(event)

    # Where it begins

    def get_default_screen(self) -> Screen[None]:
        return Workbench(self.desk, store_name=short_name(self._store_url), saved=self._store_url != "memory:")

    @property
    def main(self) -> ThreadScreen:
        """The main screen, whatever lies over it."""
        screen = self.screen_stack[0]
        assert isinstance(screen, ThreadScreen)
        return screen

    def on_ready(self) -> None:
        """The frame is painted: read what is meant."""
        self.jobs.start("opening", self._begin, group="begin")

    async def _begin(self, job: Job) -> None:
        try:
            await asyncio.to_thread(_import_engine)
            self.stamp = await self.desk.runtime.store.changed()
            place = await targets.find(
                self.desk.runtime,
                self._target,
                seed=self._seed,
                agent=self._agent,
                progress=_told_to(job),
                asks=AsksOnScreen(self),
            )
            await self._go(place)
        except StudioError as error:
            self.failure = error
            self.exit()
            return
        finally:
            gc.enable()

    async def _go(self, place: Place) -> None:
        self.desk.opening = place.thread is not None
        if place.project is not None or place.session is not None:
            await self._open_project(place)
            return
        if place.thread is not None:
            self.main.open_thread(place.thread, turn=place.turn)
            if place.told:
                self.main.say(place.told)
            return
        if place.folder is not None:
            self._folder = place.folder
        await self._show_picker(files_first=place.folder is not None)

    async def _open_project(self, place: Place) -> None:
        """A project's fresh session, or one of the store; a project with errors shows them and begins none."""
        from studio_tui.project_desk import ProjectDesk

        desk = ProjectDesk(self.desk.runtime, place.project or Path.cwd())
        if place.session is not None:
            try:
                await desk.reopen(place.session)
            except BadInput as error:  # the files are gone or have errors: what is stored can be looked at all the same
                self.main.open_thread(place.thread or place.session, turn=place.turn)
                self.main.say(sentence(error), "$text-warning")
                return
        else:
            desk.check()
            if desk.runs:
                await desk.begin(agent=self._agent or "", window=self.desk.window)
        self.project = desk
        self.came_from = desk.session.id if desk.session is not None else None
        gc.enable()
        if place.thread is not None and place.thread != place.session:
            self.show_thread(place.thread, turn=place.turn)
        else:
            await self.show_session()

    async def show_session(self, *, saying: str = "") -> None:
        """The conversation with the project that is open, over the main screen; `saying` is said there at once."""
        from studio_tui.screens.session import SessionScreen

        if self.project is None:
            return
        while len(self.screen_stack) > 1 and not isinstance(self.screen, SessionScreen):
            await self.pop_screen()
        if not isinstance(self.screen, SessionScreen):
            early = self.main.composer.text if self.desk.thread is None else ""
            await self.push_screen(SessionScreen(self.project, saying=saying, typed=early))
            if early:
                self.main.composer.taken()

    def show_handoff(self, n: int) -> None:
        """One handoff of the session, over its conversation."""
        from studio_tui.screens.handoff import HandoffScreen

        if self.project is not None:
            self.push_screen(HandoffScreen(self.project, n))

    def show_thread(self, thread: str, *, turn: str | None = None) -> None:
        """A thread of the session on the main screen, with its turns, contexts and model calls."""

        async def work(job: Job) -> None:
            while len(self.screen_stack) > 1:
                await self.pop_screen()
            self.main.open_thread(thread, turn=turn)
            if self.project is not None:
                self.main.say("F9 goes back to the session")

        self.jobs.start("opening the thread", work, group="open", ended=self._said_if_failed)

    def opened(self, thread: str) -> None:
        """A thread lies on the desk: this is where one would come back to."""
        self.came_from = thread
        gc.enable()

    def reseed_with(self, *, agent: str = "", seed: str = "", told: str) -> None:
        """A fresh thread like the one on the desk, of another agent's or seed's file; `told` is said then."""

        async def work(job: Job) -> None:
            from studio_tui.reseeding import reseeded

            made = await reseeded(self.desk, agent=agent, seed=seed)
            while len(self.screen_stack) > 1:
                await self.pop_screen()
            self.main.open_thread(made)
            self.main.say(f"{told}: thread {made}")

        self.jobs.start("reseeding", work, group="open", ended=self._said_if_failed)

    def pick(self) -> None:
        """Ask what to open."""

        async def work(job: Job) -> None:
            await self._show_picker(files_first=False)

        self.jobs.start("listing", work, group="look")

    async def _show_picker(self, *, files_first: bool) -> None:
        from runtime.seeds import shipped_seeds
        from studio_tui.screens.picker import Picker, entries_of

        threads = await self.desk.runtime.store.threads(limit=2000)
        seeds = [(seed.name, seed.about) for seed in shipped_seeds()]
        entries = entries_of(threads, seeds, self._folder, first="path" if files_first else "thread")
        await self.push_screen(Picker(entries, self._folder), self._picked)

    def _picked(self, pick: Pick | None) -> None:
        if pick is None:
            return
        if pick.kind == "thread" and self.runner.job is not None:
            self.main.open_thread(pick.value)
            return

        async def work(job: Job) -> None:
            if pick.kind == "seed":
                place = Place(await self.desk.runtime.create_thread(seed=pick.value))
            else:
                place = await targets.find(
                    self.desk.runtime,
                    pick.value,
                    seed=None,
                    agent=None,
                    progress=_told_to(job),
                    asks=AsksOnScreen(self),
                )
            await self._go(place)

        self.jobs.start("opening", work, group="open", ended=self._said_if_failed)

    def _said_if_failed(self, job: Job) -> None:
        if job.failed is not None:
            self.main.say(sentence(job.failed), "$text-error")
        elif job.stopping:
            self.main.say("stopped; nothing is left of what was being opened", "$text-warning")

    # Copying and saving

    def copied_words(self, text: str, what: str) -> str:
        """Hand `text` to the terminal's clipboard; what can honestly be said of it (C88)."""
        sent = clipboard.as_sent(text)
        self.copy_to_clipboard(sent)
        return clipboard.told(what, len(sent.encode()))

    def copy(self, text: str, what: str) -> None:
        """The same, said on the main screen."""
        self.main.say(self.copied_words(text, what))

    def save(self, text: str) -> None:
        """Ask for a file name in the current folder and write the text there."""
        from studio_tui.saving import problem_of, save
        from studio_tui.screens.ask_line import AskLine

        folder = Path.cwd()

        def answered(name: str | None) -> None:
            if name is None:
                return
            try:
                path = save(text, name, folder)
            except BadInput as error:
                self.main.say(str(error), "$text-error")
            else:
                self.main.say(f"saved {path}")

        self.push_screen(
            AskLine(
                "Save", f"The name of a new file in {folder}", lambda name: problem_of(name, folder), "finding.txt"
            ),
            answered,
        )

    # Actions of every screen

    def action_help(self) -> None:
        from studio_tui.screens.help import help_screen

        self.push_screen(help_screen())

    def action_other_theme(self) -> None:
        self.theme = themes.other(self.theme)

    async def action_leave(self) -> None:
        """Stop what runs, wait until it is settled, and go."""
        if await self.runner.stop():
            await self.workers.wait_for_complete([w for w in self.workers if w.group == GROUP])
        await self.experiments.stop_and_wait()
        self.exit()

    async def action_quit(self) -> None:
        await self.action_leave()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action that applies to the main screen, with its key."""
        if isinstance(screen, HasCommands):
            for word, key, runs in screen.commands():
                yield SystemCommand(f"{word}  {key}", word, lambda runs=runs: self._run_on(screen, runs))
            return
        if not isinstance(screen, MainView):
            yield SystemCommand("Quit", "Leaves the Studio", self.action_leave)
            return
        now = screen.situation
        for action in actions.in_palette(now):
            keys = " ".join(actions.written(key) for key in (*action.typing, *action.keys, *action.browse)[:2])
            yield SystemCommand(
                f"{action.label}  {keys}".rstrip(), action.sentence, lambda id=action.id: self._do(screen, id)
            )

    def _run_on(self, screen: Screen[object], action: str) -> None:
        screen.call_later(screen.run_action, action)

    def _do(self, screen: MainView, id: str) -> None:
        assert isinstance(screen, ThreadScreen)
        screen.call_later(screen.do, id)


def _import_engine() -> None:
    """Import what the first content needs, beside the screen, which takes keys meanwhile."""
    for name in ("runtime.threads", "studio_tui.views.turns", "studio_tui.views.context", "studio_tui.views.model"):
        import_module(name)


def _told_to(job: Job) -> Progress:
    def told(done: int, of: int) -> None:
        if job.stopping:
            raise BadInput("stopped")
        job.step = f"{done * 100 // of}%" if of else ""

    return told


def short_name(url: str) -> str:
    """A store as the head line calls it: its file's name."""
    return "in memory" if url == "memory:" else Path(url.removeprefix("sqlite:///")).name
