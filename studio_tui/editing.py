"""Opening a line of a file in the editor of the user's choice, and what that choice is."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from runtime.errors import BadInput

if TYPE_CHECKING:
    from textual.app import App

Editor: TypeAlias = "Callable[[Path, int], None]"
"""Opens a file at a line and comes back when it is closed. Raises BadInput if it cannot."""

_COLON = frozenset({"code", "codium", "cursor", "subl", "zed", "hx", "helix"})
"""Editors that take FILE:LINE; the others take +LINE FILE."""


def command(path: Path, line: int, environment: Mapping[str, str]) -> list[str]:
    """The command that opens `path` at `line`: `$VISUAL`, else `$EDITOR`, else vi. Raises BadInput for a bad quote."""
    chosen = environment.get("VISUAL") or environment.get("EDITOR") or "vi"
    try:
        words = shlex.split(chosen)
    except ValueError as error:
        raise BadInput(f"$EDITOR cannot be read: {error}", field="EDITOR") from error
    if not words:
        raise BadInput("$EDITOR names no command", field="EDITOR")
    name = Path(words[0]).name
    if name in ("code", "codium", "cursor"):
        return [*words, *([] if "--wait" in words else ["--wait"]), "--goto", f"{path}:{line}"]
    return [*words, f"{path}:{line}"] if name in _COLON else [*words, f"+{line}", str(path)]


def in_terminal(app: App[None]) -> Editor:
    """The user's editor in place of the Studio, which comes back when it is closed."""

    def edit(path: Path, line: int) -> None:
        from textual.app import SuspendNotSupported

        words = command(path, line, os.environ)
        try:
            with app.suspend():
                status = subprocess.run(words, check=False).returncode
        except SuspendNotSupported as error:
            raise BadInput("this terminal cannot be lent to an editor; edit the file beside the Studio") from error
        except OSError as error:
            raise BadInput(f"{words[0]} cannot be started: {error.strerror}", field="EDITOR") from error
        if status:
            raise BadInput(f"{words[0]} ended with status {status}", field="EDITOR")

    return edit
