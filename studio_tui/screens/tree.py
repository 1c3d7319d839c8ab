"""The tree of threads on the screen: open one, give it a name, delete it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from runtime.errors import ForksRemain
from runtime.explain.words import plural
from runtime.stores import Store, Thread
from studio_tui.jobs import Job, sentence
from studio_tui.screens.ask_line import AskLine
from studio_tui.screens.confirm import Confirm
from studio_tui.screens.dialog import Dialog
from studio_tui.views.tree import MOST, Family, tree_pane
from studio_tui.widgets.lines import LinesPane

if TYPE_CHECKING:
    from studio_tui.studio import StudioApp


async def family_of(store: Store, thread: str) -> Family:
    """The whole family of a thread: up to the thread that is no fork, then everything forked from that."""
    root = await store.thread(thread)
    while root.forked_at is not None and root.parent is not None:
        root = await store.thread(root.parent)
    forks: dict[str, Sequence[Thread]] = {}
    waiting, known = [root.id], 1
    while waiting and known <= MOST:
        one = waiting.pop(0)
        forks[one] = await store.forks(one)
        known += len(forks[one])
        waiting += [fork.id for fork in forks[one]]
    return Family(root, forks)


class TreeDialog(Dialog[str]):
    """Gives the thread to open, or None. `changed` is told of a name or a deletion that happened here."""

    AUTO_FOCUS = "LinesPane"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("r", "rename", "name", show=False),
        Binding("D,delete", "delete", "delete", show=False),
    ]
    KEYS: ClassVar[tuple[tuple[str, str, str], ...]] = (
        ("⏎", "open", "open"),
        ("r", "name it", "rename"),
        ("D", "delete it", "delete"),
        ("esc", "close", "leave"),
    )

    def __init__(self, family: Family, here: str, changed: Callable[[str | None], None]) -> None:
        super().__init__("Threads", "A fork holds the messages up to where it was forked, and goes on by itself.")
        self._family, self._thread, self._changed = family, here, changed

    def body(self) -> ComposeResult:
        yield LinesPane(classes="tree")

    def on_mount(self) -> None:
        super().on_mount()
        self._show()

    def _show(self) -> None:
        family, here = self._family, self._thread
        self.query_one(LinesPane).show(lambda folds: tree_pane(family, here), cursor=f"thread:{here}")

    @property
    def _store(self) -> Store:
        return cast("StudioApp", self.app).desk.runtime.store

    @property
    def _here(self) -> str:
        return self.query_one(LinesPane).cursor.removeprefix("thread:")

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        event.stop()
        self.action_open()

    def action_open(self) -> None:
        self.dismiss(self._here)

    def action_rename(self) -> None:
        """Ask for a name for the thread under the cursor."""
        id = self._here
        ask_name(self.app, self._named(id), lambda name: self._work("naming", lambda: self._rename(id, name)))

    def _named(self, id: str) -> str:
        known = {thread.id: thread for those in self._family.forks.values() for thread in those}
        thread = known.get(id, self._family.root)
        return thread.name

    async def _rename(self, id: str, name: str) -> None:
        await self._store.update_thread(id, name=name)
        self._changed(None)
        await self._again(self._thread)

    def action_delete(self) -> None:
        id = self._here

        async def asking() -> None:
            await ask_deletion(cast("StudioApp", self.app), id, lambda deleted: self._deleted(deleted))

        self._work("counting", asking)

    def _deleted(self, deleted: Sequence[str]) -> None:
        if self._thread in deleted or self._family.root.id in deleted:
            self.dismiss(None)
        else:
            self._work("reading", lambda: self._again(self._thread))
        for each in deleted:
            self._changed(each)

    async def _again(self, thread: str) -> None:
        self._family = await family_of(self._store, thread)
        if self.is_attached:
            self._show()

    def _work(self, name: str, reading: Callable[[], Awaitable[None]]) -> None:
        async def work(job: Job) -> None:
            await reading()

        def ended(job: Job) -> None:
            if job.failed is not None and self.is_attached:
                self.say(sentence(job.failed))

        cast("StudioApp", self.app).jobs.start(name, work, group="tree", ended=ended)


def ask_name(app: object, now: str, then: Callable[[str], None]) -> None:
    """Ask for a thread's name; an empty one takes the name away."""

    def check(text: str) -> str:
        return "a name of at most 200 characters, please" if len(text) > 200 else ""

    def answered(text: str | None) -> None:
        if text is not None:
            then(text.strip())

    cast("StudioApp", app).push_screen(
        AskLine("Name", "What this thread is called; empty takes the name away", check, now), answered
    )


async def ask_deletion(studio: StudioApp, thread: str, then: Callable[[Sequence[str]], None]) -> None:
    """Say what would be deleted and ask; `then` is told what was. Forks go with their base or not at all (S9)."""
    store = studio.desk.runtime.store
    family = [await store.thread(thread)]
    for one in family:  # grows while it is walked
        family += await store.forks(one.id)
    turns = sum([len(await store.turns(one.id, runs=False)) for one in family])
    rows = sum(one.length - (one.forked_at or 0) for one in family)
    forks = [one.name or one.id for one in family[1:]]
    name = f" ({family[0].name})" if family[0].name else ""
    words = [
        f"Deleted for good: thread {thread}{name}, {plural(rows, 'message')}, {plural(turns, 'turn')}, their re-runs "
        "and experiments."
    ]
    if forks:
        named = ", ".join(forks[:10]) + (" …" if len(forks) > 10 else "")
        words += ["", f"{plural(len(forks), 'fork')} of it read its messages and are deleted too: {named}"]

    def answered(agreed: bool | None) -> None:
        if not agreed:
            return

        async def work(job: Job) -> None:
            then(await store.delete_thread(thread, with_forks=len(family) > 1))

        studio.jobs.start("deleting", work, group="tree", ended=lambda job: _said(studio, job))

    studio.push_screen(Confirm("Delete", "\n".join(words), "delete for good"), answered)


def _said(studio: StudioApp, job: Job) -> None:
    if isinstance(job.failed, ForksRemain):
        studio.main.say("it was forked meanwhile; look again", "$text-warning")
    elif job.failed is not None:
        studio.main.say(sentence(job.failed), "$text-error")
