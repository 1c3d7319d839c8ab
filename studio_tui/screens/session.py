"""The conversation with a project: speak as the customer, see who answers, and what went on between the agents."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, ClassVar, cast

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from studio_tui.jobs import Job, sentence
from studio_tui.screens.project_view import ProjectView
from studio_tui.turn_runner import GROUP
from studio_tui.views.handoff_words import finding
from studio_tui.views.session import Spoken, checks_pane, conversation_pane, session_pane
from studio_tui.widgets.composer import Composer, RequestBox
from studio_tui.widgets.keys_footer import Key, KeysFooter
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import Pieces
from studio_tui.widgets.spans_block import SpansBlock

if TYPE_CHECKING:
    from runtime.handoff.session import SessionNews
    from studio_tui.project_desk import ProjectDesk


class SessionScreen(ProjectView):
    """Threads and events at the left, the conversation, what the compiler says, and the composer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", show=False),
        Binding("f9", "handoff", "the handoff", show=False),
        Binding("h", "handoff", "the handoff", show=False),
        Binding("ctrl+n", "fresh", "a fresh session", show=False),
        Binding("n", "fresh", "a fresh session", show=False),
        Binding("k", "check", "check again", show=False),
    ]
    TABS: ClassVar[dict[str, str]] = {"conversation": "CONVERSATION", "session": "SESSION", "checks": "CHECK"}
    AUTO_FOCUS = "#request"

    DEFAULT_CSS = """
    SessionScreen #session { width: 32; }
    SessionScreen #conversation { height: 3fr; }
    SessionScreen #checks { height: auto; max-height: 40%; min-height: 3; }
    SessionScreen.-tabbed #session { width: 1fr; height: 1fr; }
    SessionScreen.-tabbed #checks { height: 1fr; max-height: 100%; }
    SessionScreen #said { width: 1fr; }
    SessionScreen #project-tabs { display: none; padding: 0 1; }
    SessionScreen.-tabbed #project-tabs { display: block; }
    SessionScreen.-tabbed #said { width: 1fr; }
    SessionScreen #project-head { background: $panel; height: 1; padding: 0 1; }
    SessionScreen.-tabbed Composer #suggestions { display: none; }
    SessionScreen.-tabbed Composer RequestBox { min-height: 1; max-height: 3; }
    SessionScreen.-tiny Composer { border: none; background: $panel; }
    SessionScreen.-tiny #project-head { display: none; }
    SessionScreen.-tiny KeysFooter { height: 1; }
    SessionScreen.-tiny LinesPane { border: none; }
    """

    def compose(self) -> ComposeResult:
        self.fit_to(self.app.size.width, self.app.size.height)
        yield Pieces(id="project-head")
        yield Pieces(id="project-tabs")
        with Horizontal(id="project-body"):
            yield LinesPane(id="session")
            with Vertical(id="said"):
                yield Conversation(id="conversation")
                yield LinesPane(id="checks")
        yield Composer()
        yield SpansBlock(id="note")
        yield KeysFooter(id="footer")

    def __init__(self, desk: ProjectDesk, *, saying: str = "", typed: str = "") -> None:
        super().__init__(desk)
        self._saying, self._typed = saying, typed

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def typing(self) -> bool:
        """Whether the composer has the focus."""
        return not isinstance(self.focused, LinesPane)

    def on_mount(self) -> None:
        super().on_mount()
        if not self.desk.runs:
            self.call_after_refresh(self.go, "checks")
        if self._typed:
            self.composer.put(self._typed)
        if self._saying:
            self.composer.put(self._saying)
            self.call_after_refresh(self.action_say)

    # Painting

    def paint(self) -> None:
        desk = self.desk
        session = desk.session
        self.query_one("#project-head", Pieces).rows = (
            self.head_row([f"session {session.id}" if session is not None else "no session"]),
        )
        threads, events = desk.threads, desk.events
        self.show_pane("session", session_pane(threads, events))
        empty = "say something as the customer" if desk.runs else "the project has errors: see CHECK"
        self.show_pane("conversation", conversation_pane(desk.entries, under_way=desk.under_way, empty=empty))
        self.show_pane("checks", checks_pane(desk.problems, runs=desk.runs))
        count = sum(1 + (one.source is not None) for one in desk.problems)
        self.pane("checks").styles.height = "1fr" if self.tabbed or not desk.runs else min(2 * count, 8) + 2
        self.composer.title(self._title())
        self.composer.offer(self._said_before(), ())
        self.show_displays()

    def _title(self) -> str:
        desk = self.desk
        if not desk.runs and desk.session is None:
            return "ASK  nothing: the project has errors; mend them first (e opens the line)"
        return f"ASK  as the customer; {desk.speaking or 'nobody'} answers"

    def _said_before(self) -> tuple[str, ...]:
        return tuple(one.row.text for one in self.desk.entries if isinstance(one, Spoken) and one.row.role == "user")

    def shows(self, which: str) -> bool:
        if which == "checks" and not self.tabbed:
            return bool(self.desk.problems)
        return super().shows(which)

    def show_displays(self) -> None:
        """Give every pane its place, or take it away."""
        for each in self.TABS:
            if self.pane(each).display != self.shows(each):
                self.pane(each).display = self.shows(each)
        said = self.query_one("#said")
        said.display = not self.tabbed or self.tab != "session"

    def show_tab(self, which: str) -> None:
        super().show_tab(which)
        self.show_displays()

    def keys(self) -> Sequence[Key]:
        handoff: list[Key] = [("F9" if self.typing else "h", "handoff", "handoff")] if self.desk.handoffs else []
        edit: list[Key] = [("e", "edit the line, check again", "edit")] if self.line_to_edit() is not None else []
        if self.typing:
            can_say: list[Key] = [] if self.busy or self.desk.session is None else [("⏎", "say", "say")]
            stop: list[Key] = [("^c", "stop", "stop")] if self.busy else []
            return [
                *can_say, *stop, *handoff, ("^n", "fresh session", "fresh"), ("⇥", "pane", "pane(1)"),
                ("esc", "browse", "browse"), ("^o", "open", "open"), ("^p", "actions", "app.command_palette"),
                ("F1", "help", "help"), ("^q", "quit", "app.leave"),
            ]  # fmt: skip
        copy: list[Key] = [("y", "copy finding", "copy")] if self.finding else []
        return [
            ("⏎", self._opens(), "choose"), *handoff, *edit, ("t", "turns", "turns"), ("n", "fresh session", "fresh"),
            ("k", "check again", "check"), *copy, ("⇥", "pane", "pane(1)"), ("o", "open", "open"),
            ("F1", "help", "help"), ("esc", "back to the message", "back"),
        ]  # fmt: skip

    def _opens(self) -> str:
        kind = self._cursor.partition(":")[0]
        return {"thread": "its turns", "event": "the handoff", "between": "the handoff", "said": "its turn"}.get(
            kind, "open"
        )

    @property
    def _cursor(self) -> str:
        return self.focused.cursor if isinstance(self.focused, LinesPane) else ""

    @property
    def finding(self) -> str:
        return finding(self.desk.shown) if self.desk.shown is not None else ""

    def ring(self) -> list[str]:
        return [*super().ring(), "request"]

    def go(self, which: str) -> None:
        if which == "request":
            self.composer.box.focus()
        else:
            super().go(which)

    # Saying something

    def on_request_box_sent(self, event: RequestBox.Sent) -> None:
        event.stop()
        self.action_say()

    def on_request_box_left(self, event: RequestBox.Left) -> None:
        event.stop()
        self.action_browse()

    def action_browse(self) -> None:
        self.go(self.tab)

    def action_say(self) -> None:
        """Say what is typed; what is refused stays in the box (Q1)."""
        text = self.composer.text
        if self.desk.session is None:
            self.say("nobody to speak to: the project has errors (e opens the line)", "warning")
        elif not text.strip():
            self.say("nothing is typed yet", "warning")
        elif self.busy:
            self.say("somebody is speaking; ^c stops it. What you typed stays here", "warning")
        else:
            self.speak(text)

    def speak(self, text: str) -> None:
        """Say `text` as the customer, and follow what comes of it."""
        self.say("")
        taken = False

        async def work(job: Job) -> None:
            nonlocal taken
            events = cast("AsyncGenerator[SessionNews, None]", self.desk.speak(text))
            async with aclosing(events):
                async for event in events:
                    if not taken and self.is_attached and self.composer.text == text:
                        self.composer.taken()
                    taken = True
                    self.desk.tell(event)
                    self.touch()

        self.studio.jobs.start("speaking", work, group=GROUP, ended=self._spoken)
        self.touch()

    def _spoken(self, job: Job) -> None:
        self.desk.under_way = None
        failed = sentence(job.failed) if job.failed is not None else ""

        async def reading() -> None:
            await self.desk.refresh()
            if self.is_attached:
                self.pane("conversation").action_cursor_end()

        self.work("reading the conversation", reading)
        if failed and self.is_attached:
            self.say(failed, "error")
        elif job.stopping and self.is_attached:
            self.say("stopped; nothing was answered", "warning")

    # What lines and keys open

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        event.stop()
        kind, _, id = event.line.partition(":")
        if kind == "thread":
            self.studio.show_thread(id)
        elif kind in ("event", "between") and id.isdigit():
            self._open_handoff(int(id))
        elif kind == "said":
            self._open_said(id)
        elif kind == "problem":
            self.action_edit()

    def on_lines_pane_highlighted(self, event: LinesPane.Highlighted) -> None:
        event.stop()
        self.paint_footer()

    def action_choose(self) -> None:
        if isinstance(self.focused, LinesPane):
            self.focused.action_choose()

    def action_handoff(self) -> None:
        """The handoff at the cursor, else the one under study."""
        kind, _, id = self._cursor.partition(":")
        if kind in ("event", "between") and id.isdigit():
            self._open_handoff(int(id))
        elif self.desk.handoffs:
            self._open_handoff(self.desk.chosen or self.desk.handoffs[-1].n)
        else:
            self.say("no handoff has happened yet", "warning")

    def _open_handoff(self, n: int) -> None:
        numbers = [one.n for one in self.desk.handoffs]
        if not numbers:
            self.say("no handoff has happened yet", "warning")
            return
        at = n if n in numbers else max((one for one in numbers if one < n), default=numbers[0])
        self.studio.show_handoff(at)

    def _open_said(self, id: str) -> None:
        thread, _, seq = id.rpartition(":")
        entry = next(
            (
                one
                for one in self.desk.entries
                if isinstance(one, Spoken) and one.thread == thread and str(one.row.seq) == seq
            ),
            None,
        )
        if entry is not None:
            self.studio.show_thread(thread, turn=entry.row.turn)

    def line_to_edit(self) -> tuple[str, int] | None:
        """The diagnostic at the cursor of CHECK, else the HISTORY of the handoff at hand."""
        desk = self.desk
        kind, _, n = self._cursor.partition(":")
        if kind == "problem" and n.isdigit() and int(n) < len(desk.problems):
            found = desk.problems[int(n)].diagnostic
            return (found.file, found.line or 1)
        if not desk.runs and desk.problems:
            found = desk.problems[0].diagnostic
            return (found.file, found.line or 1)
        return desk.edited_line()

    def action_check(self) -> None:
        """Read and check the files again; a project that runs now begins."""

        async def reading() -> None:
            self.desk.check()
            if self.desk.session is None and self.desk.runs:
                await self.desk.begin()
            self.say("checked again")

        self.work("checking", reading)

    def action_edit(self) -> None:
        super().action_edit()
        if self.desk.session is None and self.desk.runs:
            self.action_fresh()

    def action_fresh(self) -> None:
        """A fresh session of the project as it is written now."""
        if self.busy:
            self.say("somebody is speaking; stop it first (^c)", "warning")
            return

        async def reading() -> None:
            self.desk.check()
            await self.desk.begin()
            assert self.desk.session is not None
            self.studio.came_from = self.desk.session.id
            self.say(f"a fresh session: {self.desk.session.id}")

        self.work("beginning", reading)

    def action_back(self) -> None:
        """Back to the message; nothing is stopped."""
        self.composer.box.focus()


class Conversation(LinesPane):
    """The conversation: a reader at its end stays there while it grows."""

    FOLLOWS: ClassVar[bool] = True
