"""The head line: what is open, which turn is shown, which agent and model answer, where it is kept."""

from __future__ import annotations

from dataclasses import dataclass

from textual.reactive import reactive

from studio_tui.widgets.pieces import MUTED, Piece, PieceRow, Pieces


@dataclass(frozen=True, slots=True)
class Head:
    """`path` goes from the seed or file to the turn (and the delegated turns inside it); `store` is its short name."""

    path: tuple[str, ...] = ()
    agent: str = ""
    models: tuple[str, ...] = ()
    store: str = ""


class HeadLine(Pieces):
    """One line."""

    DEFAULT_CSS = """
    HeadLine { height: 1; padding: 0 1; background: $panel; }
    """

    head: reactive[Head] = reactive(Head())

    def on_resize(self) -> None:
        self._arrange()

    def watch_head(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        head, wide = self.head, self.content_size.width >= 98
        gap = "    " if wide else "  "
        left = [Piece(" › ".join(head.path) or "nothing is open", "bold")]
        if head.agent:
            left.append(Piece(f"{gap}{'agent ' if wide else ''}{head.agent}"))
        if head.models:
            told = " → ".join(model_in_words(model, wide=wide) for model in head.models)
            left.append(Piece(f"{gap}{'model ' if wide else ''}{told}"))
        self.rows = (PieceRow(tuple(left), (Piece(f"  {head.store}", MUTED),) if wide else ()),)


def model_in_words(model: str, *, wide: bool = True) -> str:
    """A model's name with what it is if it is no LLM (Q5)."""
    if model == "offline":
        return "offline (no LLM: quotes only what it sees)" if wide else "offline (no LLM)"
    if model == "script":
        return "script (no LLM: the seed's own lines)" if wide else "script (no LLM)"
    return model
