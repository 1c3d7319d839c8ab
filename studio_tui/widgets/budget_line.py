"""The budget line: how many tokens each part of the request takes, of how many there are (F1, X3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.reactive import reactive

from studio_tui.widgets.pieces import MUTED, Piece, PieceRow, Pieces

if TYPE_CHECKING:
    from runtime.values.record import Part


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens, our estimate. `after` is the same under the what-if (None: there is none); `limit` is the room of the
    model about to be called, `reserve` what of it is kept for the answer. `note` says what a window cannot cure (F3).
    """

    before: Mapping[Part, int]
    limit: int = 0
    reserve: int = 0
    after: Mapping[Part, int] | None = None
    sent: bool = True
    note: str = ""

    @property
    def total(self) -> int:
        return sum(self.before.values())

    @property
    def total_after(self) -> int:
        return sum((self.after or self.before).values())

    @property
    def over(self) -> bool:
        """Whether what is shown would not fit."""
        return self.limit > 0 and self.total_after > self.limit - self.reserve


class BudgetLine(Pieces):
    """One line, `212→96` where the what-if differs."""

    DEFAULT_CSS = """
    BudgetLine { height: 1; padding: 0 1; }
    """

    budget: reactive[Budget | None] = reactive(None)

    def on_resize(self) -> None:
        self._arrange()

    def watch_budget(self) -> None:
        self._arrange()

    def _arrange(self) -> None:
        if self.budget is None:
            self.rows = (PieceRow((Piece("BUDGET ", "bold"), Piece(" nothing to count yet", MUTED))),)
            return
        self.rows = (budget_row(self.budget, self.content_size.width),)


def budget_row(budget: Budget, width: int) -> PieceRow:
    """The line in `width` cells: the parts, then the sum; on less room fewer words, the sum last of all."""
    from runtime.values.record import PARTS

    style = "$text-error bold" if budget.over else ("$text-warning" if budget.after is not None else "")
    parts = [part for part in PARTS if budget.before.get(part) or (budget.after or {}).get(part)]
    told = " │ ".join(f"{part} {_change(budget, part)}" for part in parts)
    note = f"   {budget.note}" if budget.note else ""
    for middle, total in ((f"{told} │ ", _total(budget)), (f"{told} │ ", _total(budget, brief=True)), ("", "")):
        total = total or _total(budget)
        if len("BUDGET  ") + len(middle) + len(total) + len(note) <= width:
            break
    return PieceRow(
        (Piece("BUDGET ", "bold"), Piece(f" {middle}"), Piece(total, style), Piece(note, "bold $text-error"))
    )


def in_brief(budget: Budget) -> str:
    """The sum alone, for narrow screens: `542/7168`."""
    if not budget.limit:
        return f"{budget.total_after:,}"
    return f"{budget.total_after:,}/{budget.limit - budget.reserve:,}"


def _change(budget: Budget, part: Part) -> str:
    before = budget.before.get(part, 0)
    after = before if budget.after is None else budget.after.get(part, 0)
    return f"{before:,}" if before == after else f"{before:,}→{after:,}"


def _total(budget: Budget, *, brief: bool = False) -> str:
    before, after = budget.total, budget.total_after
    told = f"{before:,}" if before == after else f"{before:,}→{after:,}"
    if not budget.limit:
        return f"{told} tokens (estimate)"
    verdict = ", does not fit" if budget.over else ""
    kept = "" if brief else f", {budget.reserve:,} kept for answer"
    return f"{told} of {budget.limit - budget.reserve:,}{verdict}{kept}"
