"""The app: holds the jobs and the desk, finds what is to be opened, routes between screens."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import App, SystemCommand
from textual.screen import Screen

from runtime.errors import BadInput, StudioError
from runtime.values.messages import read_window
from studio_tui import actions, clipboard, targets, themes
from studio_tui.desk import Desk
from studio_tui.jobs import Job, Jobs, sentence
from studio_tui.screens.main_view import MainView
from studio_tui.screens.thread import ThreadScreen
from studio_tui.targets import Place
from studio_tui.turn_runner import GROUP, TurnRunner

if TYPE_CHECKING:
    from runtime.events import TurnEvent
    from runtime.threads import Runtime
    from studio_tui.screens.picker import Pick


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
        self.desk = Desk(open_runtime)
        self.desk.window = None if window is None else read_window(window, field="--window")
        self.jobs = Jobs(self)
        self.runner = TurnRunner(self.desk, self.jobs, self._told)
        self.stamp = 0
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
        return next((job for job in self.jobs.running() if job.group not in (GROUP, "ahead")), None)

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
        return ThreadScreen(self.desk, store_name=short_name(self._store_url), saved=self._store_url != "memory:")

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
                self.desk.runtime, self._target, seed=self._seed, agent=self._agent, progress=_told_to(job)
            )
        except StudioError as error:
            self.failure = error
            self.exit()
            return
        finally:
            gc.enable()
        await self._go(place)

    async def _go(self, place: Place) -> None:
        if place.thread is not None:
            self.main.open_thread(place.thread, turn=place.turn)
            if place.told:
                self.main.say(place.told)
            return
        if place.folder is not None:
            self._folder = place.folder
        await self._show_picker(files_first=place.folder is not None)

    def opened(self, thread: str) -> None:
        """A thread lies on the desk: this is where one would come back to."""
        self.came_from = thread
        gc.enable()

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
        if pick.kind == "thread":
            self.main.open_thread(pick.value)
            return

        async def work(job: Job) -> None:
            if pick.kind == "seed":
                place = Place(await self.desk.runtime.create_thread(seed=pick.value))
            else:
                place = await targets.find(self.desk.runtime, pick.value, seed=None, agent=None, progress=_told_to(job))
            await self._go(place)

        self.jobs.start("opening", work, group="open", ended=self._said_if_failed)

    def _said_if_failed(self, job: Job) -> None:
        if job.failed is not None:
            self.main.say(sentence(job.failed), "$text-error")

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
        self.exit()

    async def action_quit(self) -> None:
        await self.action_leave()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The palette: every action that applies to the main screen, with its key."""
        if not isinstance(screen, MainView):
            yield SystemCommand("Quit", "Leaves the Studio", self.action_leave)
            return
        now = screen.situation
        for action in actions.in_palette(now):
            keys = " ".join(actions.written(key) for key in (*action.typing, *action.keys, *action.browse)[:2])
            yield SystemCommand(
                f"{action.label}  {keys}".rstrip(), action.sentence, lambda id=action.id: self._do(screen, id)
            )

    def _do(self, screen: MainView, id: str) -> None:
        assert isinstance(screen, ThreadScreen)
        screen.call_later(screen.do, id)


def _import_engine() -> None:
    """Import what the first content needs, beside the screen, which takes keys meanwhile."""
    for name in ("runtime.threads", "studio_tui.views.turns", "studio_tui.views.context", "studio_tui.views.model"):
        import_module(name)


def _told_to(job: Job) -> targets.Progress:
    def told(done: int, of: int) -> None:
        if job.stopping:
            raise BadInput("stopped")
        job.step = f"{done * 100 // of}%" if of else ""

    return told


def short_name(url: str) -> str:
    """A store as the head line calls it: its file's name."""
    return "in memory" if url == "memory:" else Path(url.removeprefix("sqlite:///")).name
