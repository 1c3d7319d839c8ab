"""What the main screen does with a thread as a whole: find in it, list it, edit its files, name, delete, its tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runtime.values.messages import Message
from studio_tui.actions import Focus, Situation
from studio_tui.desk import NEXT
from studio_tui.file_places import FilePlace, Kind, place_of
from studio_tui.screens.thread import ThreadScreen
from studio_tui.views.lines import Line, where
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import MUTED


class ThreadWork(ThreadScreen):
    """The actions `find`, `ledger`, `edit`, `tree`, `rename`, `delete`."""

    def __init__(self, *args: object, **options: object) -> None:
        super().__init__(*args, **options)  # type: ignore[arg-type]  # passed on as they came
        self._sought = ""
        self._hits: tuple[str, ...] = ()
        self._sought_in: Focus = "context"

    @property
    def situation(self) -> Situation:
        """With whether a search goes on, and whether there is a file to edit."""
        seed, agent = self.desk.seed, self.desk.agent
        filed = bool((seed is not None and seed.file) or (agent is not None and agent.file))
        return replace(super().situation, found=bool(self._sought), filed=filed)

    # Finding

    def action_find(self) -> None:
        """Ask for words and go to the first place that says them, from the cursor on."""
        from studio_tui.screens.ask_line import AskLine

        which: Focus = self.focus_now if self.focus_now != "composer" else "context"
        places = {"context": "CONTEXT, folded and left out messages too", "turns": "TURNS", "model": "MODEL"}

        def answered(text: str | None) -> None:
            if text is not None and text.strip():
                self._find(text, which)

        self.app.push_screen(AskLine("Find", f"in {places[which]}", lambda text: "", self._sought), answered)

    def _find(self, words: str, which: Focus) -> None:
        async def reading() -> None:
            self._end_search()
            self._sought, self._sought_in = words, which
            if which == "context":
                await self.desk.load(1, self._last_row)
            self._hits = self._places(words, which)
            self.pane(which).seek(words)
            if self._hits:
                self._step_hit(1, from_cursor=True)
            else:
                self._end_search()
                self.say(f"{words!r} is nowhere in {which.upper()}", "$text-warning")

        self.look("finding", reading)

    @property
    def _last_row(self) -> int:
        """The newest row that the context under study could have."""
        record = self.desk.record
        if record is not None and record.context is not None:
            return record.context.stored
        return self.desk.thread.length if self.desk.thread is not None else 0

    def _places(self, words: str, which: Focus) -> tuple[str, ...]:
        """The ids of the lines that say the words, in order; rows of CONTEXT also where they are folded away."""
        wanted = words.casefold()
        lines = self.pane(which).pane.lines
        if which != "context":
            return tuple(line.of or line.id for line in lines if wanted in line.text.casefold())
        before, after = self._other_places(lines, wanted)
        rows = [
            f"row:{seq}"
            for seq, row in sorted(self.desk.rows.items())
            if seq <= self._last_row and isinstance(row, Message) and wanted in row.text.casefold()
        ]
        return (*before, *rows, *after)

    @staticmethod
    def _other_places(lines: Sequence[Line], wanted: str) -> tuple[list[str], list[str]]:
        """Lines of CONTEXT that are about no row, before and after the history."""
        before: list[str] = []
        after: list[str] = []
        passed = False
        for line in lines:
            if line.id == "section:history":
                passed = True
            elif line.seq is None and not line.fill and wanted in line.text.casefold():
                (after if passed else before).append(line.of or line.id)
        return before, after

    def action_next_hit(self) -> None:
        self._step_hit(1)

    def action_previous_hit(self) -> None:
        self._step_hit(-1)

    def _step_hit(self, by: int, *, from_cursor: bool = False) -> None:
        hits, pane = self._hits, self.pane(self._sought_in)
        if not hits:
            return
        here = hits.index(pane.cursor) if pane.cursor in hits else -1 if by > 0 else 0
        at = here if from_cursor and here >= 0 else (here + by) % len(hits)
        self._go_to_line(pane, hits[at])
        pane.focus()
        self.say(f"{at + 1} of {len(hits)} places say {self._sought!r}: n next, N before, esc ends", MUTED)

    def _go_to_line(self, pane: LinesPane, id: str) -> None:
        """Put the cursor on a line; unfold the range that holds it if it is folded away."""
        if where(pane.pane.lines, id) is None and id.startswith("row:"):
            seq = int(id.removeprefix("row:"))
            if where(pane.pane.lines, f"row:{seq}") is None:
                self._unfold_row(pane, seq)
        pane.cursor = id

    def _unfold_row(self, pane: LinesPane, seq: int) -> None:
        history = next((line for line in pane.pane.lines if line.id == "section:history"), None)
        if history is not None and history.fold == "closed":
            pane.fold("section:history")
        self._paint_context()  # with the rows that were just read: where ranges begin depends on them
        for line in pane.pane.lines:
            kind, _, span = line.id.partition(":")
            first, _, last = span.partition("-")
            if kind == "out" and first.isdigit() and last.isdigit() and int(first) <= seq <= int(last):
                if line.fold == "closed":
                    pane.fold(line.id)
                return

    def action_back(self) -> None:
        """Out of a search first; then as ever."""
        if self._sought:
            self._end_search()
            self.say("")
        else:
            super().action_back()

    def _end_search(self) -> None:
        if self._sought:
            self.pane(self._sought_in).seek("")
        self._sought, self._hits = "", ()
        self.touch("around")

    # The ledger

    def action_ledger(self) -> None:
        """Every message of the thread with its place or reason, and what was never stored."""

        async def reading() -> None:
            from runtime.explain import turn_name
            from studio_tui.screens.ledger import LedgerDialog
            from studio_tui.screens.why import accounts_of

            found = await accounts_of(self.desk)
            if found is None:
                self.say("nothing was assembled for this turn, so there is nothing to list", "$text-warning")
                return
            record, accounts, rows = found
            name = turn_name(record) if record.turn != NEXT else "the next turn"
            await self.app.push_screen(LedgerDialog(name, accounts, rows), self._go_to_seq)

        self.look("listing", reading)

    def _go_to_seq(self, seq: int | None) -> None:
        if seq is not None:

            async def reading() -> None:
                await self.desk.load(1, self._last_row)
                self.pane("context").focus()
                self._go_to_line(self.pane("context"), f"row:{seq}")

            self.look("going there", reading)

    # Files

    def action_edit(self) -> None:
        """The seed at the highlighted message, or the agent at what is highlighted of it."""
        line = self.highlighted("context") if self.focus_now == "context" else ""
        self._edit(place_of(line, self.desk.seed, self.desk.agent))

    def action_edit_agent(self) -> None:
        kind: Kind = "agent"
        self._edit(place_of("", self.desk.seed, self.desk.agent, kind=kind))

    def _edit(self, place: FilePlace | None) -> None:
        from studio_tui.screens.edit_file import edit_file

        if place is None:
            self.say("there is no file behind this: the thread has no seed, and the agent no file", "$text-warning")
        else:
            edit_file(self.studio, place)

    # Names, deletion, the tree

    def action_tree(self) -> None:
        thread = self.desk.thread
        if thread is None:
            return

        async def reading() -> None:
            from studio_tui.screens.tree import TreeDialog, family_of

            family = await family_of(self.desk.runtime.store, thread.id)
            await self.app.push_screen(TreeDialog(family, thread.id, self._tree_changed), self._from_tree)

        self.look("reading the tree", reading)

    def _from_tree(self, thread: str | None) -> None:
        if thread is not None and self.desk.thread is not None and thread != self.desk.thread.id:
            self.open_thread(thread)

    def _tree_changed(self, deleted: str | None) -> None:
        """A thread was named, or deleted: follow."""
        if deleted is None:
            self.look("reading", self._renew)
        elif self.desk.thread is not None and deleted == self.desk.thread.id:
            self._open_another(deleted)
        else:
            self.look("reading", self._renew)

    async def _renew(self) -> None:
        await self.desk.refresh()
        self.touch()

    def _open_another(self, deleted: str) -> None:
        """The thread on the desk is gone: the newest one takes its place, else whatever is picked."""

        async def reading() -> None:
            others = await self.desk.runtime.store.threads(limit=1)
            if others:
                self.open_thread(others[0].id)
                self.say(f"deleted thread {deleted}")
            else:
                self.desk.thread, self.desk.selected = None, NEXT
                self.touch()
                self.studio.pick()

        self.look("opening another", reading)

    def action_rename(self) -> None:
        from studio_tui.screens.tree import ask_name

        thread = self.desk.thread
        if thread is None:
            return

        def named(name: str) -> None:
            async def reading() -> None:
                await self.desk.runtime.store.update_thread(thread.id, name=name)
                await self._renew()
                self.say(f"this thread is called {name}" if name else "this thread has no name any more")

            self.look("naming", reading)

        ask_name(self.app, thread.name, named)

    def action_delete(self) -> None:
        """Say what would go, ask, and delete."""
        thread = self.desk.thread
        if thread is None:
            return

        async def reading() -> None:
            from studio_tui.screens.tree import ask_deletion

            await ask_deletion(self.studio, thread.id, lambda deleted: self._open_another(thread.id))

        self.look("counting", reading)
