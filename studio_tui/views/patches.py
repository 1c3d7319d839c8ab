"""Rows dropped or edited by hand for the next run: kept beside the record, which they never change (X3, X7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from studio_tui.views.lines import Line, Lines, Pane, Span


@dataclass(frozen=True, slots=True)
class Patches:
    """What the next runs of one turn leave out (`drop`, by seq) or see with another text (`edit`)."""

    turn: str = ""
    drop: frozenset[int] = frozenset()
    edit: Mapping[int, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.drop or self.edit)

    def dropping(self, seq: int) -> Patches:
        """With the row left out; one that was is back again."""
        return replace(self, drop=self.drop ^ {seq}, edit={n: text for n, text in self.edit.items() if n != seq})

    def editing(self, seq: int, text: str | None) -> Patches:
        """With another text of the row; None takes that back."""
        others = {n: known for n, known in self.edit.items() if n != seq}
        return replace(self, drop=self.drop - {seq}, edit=others if text is None else {**others, seq: text})

    @property
    def words(self) -> str:
        """What they are, for a person; empty for none."""
        from runtime.explain import ranges

        told = []
        if self.drop:
            told.append(f"without seq {ranges(sorted(self.drop))}")
        if self.edit:
            told.append(f"with another text of seq {ranges(sorted(self.edit))}")
        return " and ".join(told)


def with_patches(pane: Pane, patches: Patches) -> Pane:
    """CONTEXT with a mark at the rows that the next run leaves out or sees with another text."""
    if not patches or not isinstance(pane.lines, Lines):
        return pane

    def change(line: Line) -> Line:
        if line.kind != "row" or line.seq is None:
            return line
        if line.seq in patches.drop:
            return replace(line, right=(Span("✂ dropped  ", "what-if"), *line.right), fade=True)
        if line.seq in patches.edit:
            return replace(line, right=(Span("✎ edited  ", "what-if"), *line.right))
        return line

    return replace(pane, lines=pane.lines.changed(change))
