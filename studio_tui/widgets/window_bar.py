"""The window bar: which window was sent, which is shown beside it, and what it means in words (X3)."""

from __future__ import annotations

from dataclasses import dataclass

from textual.reactive import reactive

from runtime.values.messages import Window
from studio_tui.widgets.pieces import MUTED, Piece, PieceRow, Pieces
from studio_tui.windows import in_short, ladder, same, shown


@dataclass(frozen=True, slots=True)
class Windows:
    """What the bar shows. `sent` is the window of the selected turn (None: nothing was sent), `what_if` the one laid
    over it (None: none); `stored` counts the rows selected from, the request's too if it is one (`request`);
    None says nothing is open."""

    sent: Window | None = None
    what_if: Window | None = None
    stored: int | None = None
    request: bool = True
    coming: bool = False
    told: str = ""
    """What is said of the window that was sent, in place of what its number means (a recorded turn has none)."""

    @property
    def shown(self) -> Window:
        """The window in question: the what-if, else the one sent, else everything."""
        if self.what_if is not None:
            return self.what_if
        return "all" if self.sent is None else self.sent

    @property
    def values(self) -> tuple[Window, ...]:
        """The values on the bar."""
        return ladder(self.sent, self.what_if)


class WindowBar(Pieces):
    """One line of values; a click on one shows it. On narrow screens the words are shorter."""

    DEFAULT_CSS = """
    WindowBar { height: 1; padding: 0 1; }
    """

    windows: reactive[Windows] = reactive(Windows())

    def on_resize(self) -> None:
        self._arrange()

    def watch_windows(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        width = self.content_size.width
        values = (Piece("WINDOW ", "bold"), *(self._value(value) for value in self.windows.values))
        legend, words = self._legend(), Piece(self._words(brief=False))
        room = width - sum(len(piece.text) for piece in values) - len(words.text)
        if room >= len(legend.text):
            middle = legend
        else:
            middle = Piece("   " if room >= 3 else " ")
            words = words if room >= 3 else Piece(self._words(brief=True))
        self.rows = (PieceRow((*values, middle, words)),)

    def _value(self, value: Window) -> Piece:
        now, text, pick = self.windows, shown(value), str(value)
        sent = "•" if now.sent is not None and same(value, now.sent) else ""
        if now.what_if is not None and same(value, now.what_if):
            return Piece(f"▐{sent}{text}▌", "bold $text-accent", pick)
        return Piece(f"{sent or ' '}{text} ", "bold" if sent else "", pick)

    def _legend(self) -> Piece:
        if self.windows.coming:
            return Piece("     ▐ ▌ for the next turn     ", MUTED)
        return Piece("     • as sent   ▐ ▌ what if     ", MUTED)

    def _words(self, *, brief: bool) -> str:
        now = self.windows
        if now.stored is None:
            return ""
        if now.told and now.what_if is None:
            return now.told.removeprefix("recorded: ") if brief else now.told
        from runtime.explain import window_words

        words = window_words(now.shown, now.stored, has_request=now.request)
        return in_short(words) if brief else words
