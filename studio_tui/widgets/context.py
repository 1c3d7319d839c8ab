"""The CONTEXT pane."""

from __future__ import annotations

from studio_tui.views.patches import Patches, with_patches
from studio_tui.widgets.lines import LinesPane, View


class ContextPane(LinesPane):
    """Draws `studio_tui.views.context`, with marks at rows that the next run leaves out or sees otherwise."""

    patches = Patches()
    _bare: View | None = None

    def show(self, view: View, *, cursor: str | None = None) -> None:
        """As a pane of lines does, with the marks."""
        self._bare = view
        super().show(lambda folds: with_patches(view(folds), self.patches), cursor=cursor)

    def patch(self, patches: Patches) -> None:
        """Mark these rows from here on."""
        if patches != self.patches:
            self.patches = patches
            if self._bare is not None:
                self.show(self._bare)
