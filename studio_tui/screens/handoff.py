"""One handoff: what was written, how it was read, what is in force, what the target got, and what else it could be."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from runtime.explain.words import plural
from runtime.handoff.events import HandoffEvent
from studio_tui.screens.project_view import ProjectView
from studio_tui.turn_runner import GROUP
from studio_tui.views.handoff import caller_pane, probe_pane, strategy_pane, target_pane
from studio_tui.views.handoff_values import values_pane
from studio_tui.views.handoff_words import finding, short_place, why
from studio_tui.views.lines import Span
from studio_tui.views.session import events_pane, session_pane
from studio_tui.widgets.keys_footer import Key, KeysFooter
from studio_tui.widgets.lines import LinesPane
from studio_tui.widgets.pieces import MUTED, Piece, PieceRow, Pieces
from studio_tui.widgets.spans_block import SpansBlock

if TYPE_CHECKING:
    from studio_tui.project_desk import ProjectDesk

HERE = frozenset({"offline", "script"})
"""Models that send nothing anywhere, so that asking them needs no question first (X4)."""

ROOMY = 36
"""Rows from which on the answers of both sides have more of them."""

TARGETS_TURN = "target's turn"
TURN_BY_ENTER: list[Key] = [("⏎", TARGETS_TURN, "choose")]


class HandoffScreen(ProjectView):
    """The tree, events and values at the left; the strategy above the caller's rows and the target's first call."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "back", show=False),
        Binding("h", "next_choice(1)", "another HISTORY", show=False),
        Binding("H", "next_choice(-1)", "the one before", show=False),
        Binding("full_stop", "as_sent", "the record alone", show=False),
        Binding("colon", "type", "type a HISTORY", show=False),
        Binding("ctrl+g", "type", "type a HISTORY", show=False),
        Binding("left_square_bracket", "handoff(-1)", "previous handoff", show=False),
        Binding("right_square_bracket", "handoff(1)", "next handoff", show=False),
        Binding("p", "probe", "ask both sides", show=False),
        Binding("ctrl+r", "replay", "replay beside", show=False),
        Binding("r", "replay", "replay beside", show=False),
        Binding("ctrl+l", "compare", "compare", show=False),
        Binding("c", "compare", "compare", show=False),
        Binding("w", "wire", "wire body", show=False),
        Binding("ctrl+f", "why", "why", show=False),
        Binding("slash", "why", "why", show=False),
    ]
    TABS: ClassVar[dict[str, str]] = {
        "caller": "CALLER",
        "target": "TARGET",
        "tree": "SESSION",
        "values": "VALUES",
        "events": "EVENTS",
        "probe": "PROBE",
    }
    AUTO_FOCUS = ""

    DEFAULT_CSS = """
    HandoffScreen #project-head { background: $panel; height: 2; padding: 0 1; }
    HandoffScreen #project-body { height: 1fr; }
    HandoffScreen #session { width: 29; }
    HandoffScreen #caller { width: 4fr; }
    HandoffScreen #target { width: 3fr; }
    HandoffScreen #finding { max-height: 3; }
    HandoffScreen #project-tabs { display: none; padding: 0 1; }
    HandoffScreen.-tabbed #project-tabs { display: block; }
    HandoffScreen.-tabbed #session { display: none; }
    HandoffScreen.-tabbed #project-panes > LinesPane { width: 1fr; height: 1fr; max-height: 100%; }
    HandoffScreen.-tiny #project-head, HandoffScreen.-tiny #strategy { display: none; }
    HandoffScreen.-tiny KeysFooter { height: 1; }
    HandoffScreen.-tiny #finding { max-height: 1; }
    HandoffScreen.-tiny LinesPane { border: none; }
    """

    def __init__(self, desk: ProjectDesk, n: int) -> None:
        super().__init__(desk)
        self._wanted = n

    def compose(self) -> ComposeResult:
        self.fit_to(self.app.size.width, self.app.size.height)
        yield Pieces(id="project-head")
        with Horizontal(id="project-body"):
            yield LinesPane(id="session")
            with Vertical():
                yield LinesPane(id="strategy")
                yield Pieces(id="project-tabs")
                with Horizontal(id="project-panes"):
                    yield LinesPane(id="caller")
                    yield LinesPane(id="target")
                    yield LinesPane(id="tree")
                    yield LinesPane(id="values")
                    yield LinesPane(id="events")
                yield LinesPane(id="probe")
        yield SpansBlock(id="finding")
        yield SpansBlock(id="note")
        yield KeysFooter(id="footer")

    def on_mount(self) -> None:
        super().on_mount()
        self.choose(self._wanted)
        self.call_after_refresh(self._first_focus)

    def _first_focus(self) -> None:
        self.pane("caller" if self.tabbed else "session").focus()

    def choose(self, n: int) -> None:
        """Study another handoff; what stays on this machine is asked at once."""
        self._wanted = n

        async def reading() -> None:
            await self.desk.choose(n)
            self.touch()
            if self._stays_here and self.desk.shown is not None and not self.busy:
                await self.desk.probe()

        self.say("")
        self.work("reading the handoff", reading)

    @property
    def _stays_here(self) -> bool:
        return bool(self.desk.models) and all(model in HERE for model in self.desk.models)

    # Painting

    def paint(self) -> None:
        desk, shown = self.desk, self.desk.shown
        self.query_one("#project-head", Pieces).rows = (self._path(), self._route())
        if shown is None:
            return
        cursor = f"event:{desk.chosen}"
        threads, events = desk.threads, desk.events
        choices, narrow, tabbed = desk.choices, self.narrow, self.tabbed
        at = cursor if not self.pane("session").cursor.startswith("thread:") else None
        self.pane("session").show(lambda folds: session_pane(threads, events, shown=shown), cursor=at)
        strategy = strategy_pane(shown, choices, narrow=narrow)
        self.show_pane("strategy", strategy)
        self.pane("strategy").styles.height = len(strategy.lines) + 2 + (1 if shown.problems and not narrow else 0)
        self.pane("caller").show(lambda folds: caller_pane(shown, folds=folds, narrow=tabbed))
        self.pane("target").show(lambda folds: target_pane(shown, folds=folds))
        self.show_pane("tree", session_pane(threads, events, shown=shown, tree_only=True))
        self.show_pane("values", values_pane(shown))
        self.pane("events").show(lambda folds: events_pane(events), cursor=cursor)
        self.show_pane("probe", probe_pane(desk.answers, names=desk.names))
        self.pane("probe").styles.height = "1fr" if tabbed else 7 if self.size.height >= ROOMY else 5
        self.query_one("#finding", SpansBlock).show([(Span("FINDING  ", "title"), Span(self.finding))])

    def _path(self) -> PieceRow:
        desk = self.desk
        session = f"session {desk.session.id}" if desk.session is not None else "no session"
        numbers = [one.n for one in desk.handoffs]
        at = numbers.index(desk.chosen) + 1 if desk.chosen in numbers else 0
        return self.head_row([session, f"handoff {at} of {len(numbers)}"])

    def _route(self) -> PieceRow:
        shown = self.desk.shown
        if shown is None:
            return PieceRow((Piece("reading…", MUTED),))
        event = shown.event
        kind = "the waiting thread, resumed" if shown.resumed else "new thread"
        back = "RETURN: true" if event.returns else ("no return" if self.narrow else "RETURN: false")
        left = [Piece(f"{event.caller} → {event.target}", "bold"), Piece(f"   {kind}   {back}")]
        if isinstance(event, HandoffEvent) and event.remote:
            left.append(Piece("   remote", "bold $text-accent"))
        if shown.route is not None and not self.narrow:
            left.append(Piece(f"   when {shown.route.when.text or 'always'}", MUTED))
        return PieceRow(tuple(left))

    @property
    def finding(self) -> str:
        return finding(self.desk.shown) if self.desk.shown is not None else ""

    def shows(self, which: str) -> bool:
        if not self.tabbed:
            return which in ("caller", "target", "probe")
        return super().shows(which)

    def show_tab(self, which: str) -> None:
        super().show_tab(which)
        self.query_one("#project-panes").display = not self.tabbed or which != "probe"

    def ring(self) -> list[str]:
        return super().ring() if self.tabbed else ["session", "strategy", "caller", "target", "probe"]

    def go(self, which: str) -> None:
        if which in self.TABS and (self.tabbed or which in ("caller", "target", "probe")):
            super().go(which)
        else:
            self.query_one(f"#{which}").focus()

    def keys(self) -> Sequence[Key]:
        desk, shown = self.desk, self.desk.shown
        if self.busy:
            return [("^c", "stop", "stop"), ("esc", "back", "leave"), ("F1", "help", "help")]
        place = desk.edited_line()
        several = len(desk.handoffs) > 1
        here = self.focused.id if self.focused is not None else ""
        tree = here in ("session", "events")
        compare: list[Key] = [("^l", "compare", "compare")] if desk.beside and desk.beside.event else []
        tries: list[Key] = [] if shown is None or shown.resumed else [("h", "what-if", "next_choice(1)")]
        at = short_place(f"{place[0]}:{place[1]}") if place is not None else ""
        edit = f"edit {at}" + ("" if self.narrow else ", check again")
        enter: list[Key] = [("⏎", self._enter(here), "choose")] if here else []
        opens: list[Key] = (
            [("t", TARGETS_TURN, "turns")] if shown and shown.first and enter[:1] != TURN_BY_ENTER else []
        )
        return [
            *([("↑↓" if tree else "[ ]", "handoffs", "" if tree else "handoff(1)")] if several else []),
            *tries,
            ("^r", "replay beside", "replay"),
            *compare,
            *([("e", edit, "edit")] if place is not None else []),
            *enter,
            *opens,
            ("p", "ask both", "probe"),
            ("w", "wire", "wire"),
            ("y", "copy finding", "copy"),
            ("^f", "why?", "why"),
            ("⇥", "pane", "pane(1)"),
            ("F1", "help", "help"),
            ("esc", "back", "leave"),
        ]

    def _enter(self, here: str | None) -> str:
        """What Enter does where the focus is."""
        if here in ("caller", "target"):
            return "unfold"
        cursor = self.focused.cursor if isinstance(self.focused, LinesPane) else ""
        if here == "strategy":
            return "another HISTORY"
        return "its turns" if cursor.startswith("thread:") else TARGETS_TURN

    # What keys and lines do

    def on_lines_pane_highlighted(self, event: LinesPane.Highlighted) -> None:
        """Resting on an event studies it."""
        event.stop()
        kind, _, n = event.line.partition(":")
        if kind == "event" and n.isdigit() and event.sender.id in ("session", "events") and event.sender.has_focus:
            number = int(n)
            if number != self._wanted and any(one.n == number for one in self.desk.handoffs):
                self.choose(number)
        self.paint_footer()

    def on_lines_pane_chosen(self, event: LinesPane.Chosen) -> None:
        event.stop()
        kind, _, id = event.line.partition(":")
        if kind == "thread":
            self.studio.show_thread(id)
        elif event.sender.id == "strategy":
            self.action_next_choice(1)
        else:
            self.action_turns()

    def action_choose(self) -> None:
        if isinstance(self.focused, LinesPane):
            self.focused.action_choose()

    def action_turns(self) -> None:
        """The target's first turn, on the main screen."""
        shown = self.desk.shown
        if shown is None:
            return
        turn = shown.first.turn if shown.first is not None else None
        self.studio.show_thread(shown.event.thread, turn=turn)

    def action_handoff(self, by: int) -> None:
        self.choose(self.desk.next_handoff(by))

    def action_next_choice(self, by: int) -> None:
        """Another HISTORY as the what-if; nothing runs, and the record stays."""
        if self.desk.shown is not None and self.desk.shown.resumed:
            self.say("HISTORY is not applied to a thread that waits", "warning")
            return
        self.desk.lay(self.desk.next_choice(by))
        self.say("")

    def action_as_sent(self) -> None:
        self.desk.lay(None)
        self.say("")

    def action_type(self) -> None:
        """Type any HISTORY: what is not recognised falls to the default, as it would in a file."""
        from studio_tui.screens.ask_line import AskLine

        def answered(text: str | None) -> None:
            if text is not None:
                self.desk.lay(text.strip())
                self.touch()

        def check(text: str) -> str:
            return "" if text.strip() else "type none, full, auto, summary_only, or a count such as last_5"

        intro = "as in the file, on one line; nothing is stored or run, the record stays as it is"
        self.app.push_screen(AskLine("What if HISTORY were", intro, check, self.desk.written or "last_4"), answered)

    def action_why(self) -> None:
        from studio_tui.screens.ask_line import AskLine

        shown = self.desk.shown
        if shown is None:
            return

        def answered(text: str | None) -> None:
            if text is not None:
                self.say(why(shown, text))

        self.app.push_screen(
            AskLine("Why is it in or out?", "a message of the caller, by its seq or by words in it",
                    lambda text: "" if text.strip() else "type a seq or words"),
            answered,
        )  # fmt: skip

    def action_probe(self) -> None:
        """Ask both sides the same question, on views."""
        from studio_tui.screens.ask_line import AskLine

        if self.busy:
            return

        def answered(text: str | None) -> None:
            if text is not None and text.strip():
                self.work("asking", lambda: self.desk.probe(text.strip()), group=GROUP)
                self.touch()

        where = "" if self._stays_here else f"; sent to {', '.join(self.desk.models) or 'the models of the agents'}"
        intro = f"the target, and the one beside it, are asked on the side: nothing is stored{where}"

        def check(text: str) -> str:
            return "" if text.strip() else "type a question"

        self.app.push_screen(AskLine("Ask both sides", intro, check, self.desk.answers.question), answered)

    def action_replay(self) -> None:
        """The same customer messages on a fresh session; what reaches out is said first (X4)."""
        if self.busy or self.desk.shown is None:
            return
        if self._stays_here and not any(one.remote for one in self.desk.threads):
            self._replay()
            return

        async def asking() -> None:
            from studio_tui.screens.confirm import Confirm

            await self.app.push_screen(Confirm("Replay", await self._what_it_does(), "replay"), self._agreed)

        self.work("counting", asking)

    async def _what_it_does(self) -> str:
        cost, models = await self.desk.costs(), ", ".join(self.desk.models) or "the models of the agents"
        lines = [
            f"The same {plural(cost.messages, 'customer message')} on a fresh session.",
            f"HISTORY of the route: {self.desk.written or 'as it is'}.",
            f"By what it took the first time: {plural(cost.model_calls, 'model call')}, sent to {models}.",
        ]
        if cost.tool_calls:
            lines.append(f"Tools of the agents run LIVE: {plural(cost.tool_calls, 'call')}.")
        if cost.remote_calls:
            lines.append(f"Remote targets are called: {plural(cost.remote_calls, 'time')}.")
        return "\n".join(lines)

    def _agreed(self, agreed: bool | None) -> None:
        if agreed:
            self._replay()

    def _replay(self) -> None:
        async def replaying() -> None:
            await self.desk.replay()
            beside = self.desk.beside
            if beside is not None:
                self.say(f"replayed with {beside.written}: session {beside.session.id}; ^l compares")

        self.work("replaying", replaying, group=GROUP)
        self.touch()

    def action_compare(self) -> None:
        async def reading() -> None:
            from studio_tui.screens.compare import CompareScreen

            await self.app.push_screen(CompareScreen(*await self.desk.pair()))

        self.work("comparing", reading)

    def action_wire(self) -> None:
        """The body of the target's first request, masked; of a remote target what is posted is its messages."""
        shown = self.desk.shown
        if shown is None or shown.first is None:
            self.say("there is no request of the target's own here", "warning")
            return
        record = shown.first
        step = record.steps[0].step if record.steps else 0

        async def reading() -> None:
            from studio_tui.screens.reader import wire_body

            body = await self.desk.body(record.turn, step) if step else None
            await self.app.push_screen(wire_body(record, step, body))

        self.work("reading the body", reading)

    def line_to_edit(self) -> tuple[str, int] | None:
        return self.desk.edited_line()

    def action_leave(self) -> None:
        self.dismiss(None)
