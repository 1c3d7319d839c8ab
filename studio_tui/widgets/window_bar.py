"""The window bar: which window was sent, which is shown beside it, and what it means in words (X3)."""

from __future__ import annotations

from dataclasses import dataclass

from textual.reactive import reactive

from runtime.explain import window_words
from runtime.values.messages import Window
from studio_tui.widgets.pieces import Piece, PieceRow, Pieces
from studio_tui.windows import in_short, ladder, same, shown


@dataclass(frozen=True, slots=True)
class Windows:
    """What the bar shows. `sent` is the window of the selected turn (None: nothing was sent), `what_if` the one laid
    over it (None: none); `stored` counts the rows selected from, the request's too if it is one (`request`)."""

    sent: Window | None = None
    what_if: Window | None = None
    stored: int = 0
    request: bool = True
    coming: bool = False

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
        values = self._values(wide=width >= 98)
        room = width - sum(len(piece.text) for piece in values)
        words = Piece(self._words(brief=False), "$foreground")
        if room >= len(words.text) + 30:
            self.rows = (PieceRow((*values, *self._legend(), words)),)
        elif room >= len(words.text) + 2:
            self.rows = (PieceRow((*values, Piece("  "), words)),)
        else:
            self.rows = (PieceRow((*values, Piece("  "), Piece(self._words(brief=True)))),)

    def _values(self, *, wide: bool) -> tuple[Piece, ...]:
        gap = " " if wide else ""
        return (Piece("WINDOW ", "bold"), *(self._value(value, gap) for value in self.windows.values))

    def _value(self, value: Window, gap: str) -> Piece:
        now, text, pick = self.windows, shown(value), str(value)
        if now.what_if is not None and same(value, now.what_if):
            inside = f"▐•{text}▌" if now.sent is not None and same(value, now.sent) else f"▐{text}▌"
            return Piece(f"{gap}{inside}" if gap else inside, "bold $text-accent", pick)
        if now.sent is not None and same(value, now.sent):
            return Piece(f"{gap}•{text}{gap or ' '}" if gap else f"•{text} ", "bold", pick)
        return Piece(f"{gap} {text}{gap}" if gap else f"{text} ", "", pick)

    def _legend(self) -> tuple[Piece, ...]:
        sent = "" if self.windows.coming else "• as sent   "
        return (Piece(f"   {sent}▐ ▌ {'to be sent' if self.windows.coming else 'what if'}      ", "$text-muted"),)

    def _words(self, *, brief: bool) -> str:
        now = self.windows
        words = window_words(now.shown, now.stored, has_request=now.request)
        return in_short(words) if brief else words
