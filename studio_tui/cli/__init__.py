"""The command people type. Each command is a file of its own, loaded when it is called."""

from __future__ import annotations

from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command on `arguments` (None: the program's own); returns the exit status: 0, 1 or 2.

    0 done; 1 what was asked for did not hold; 2 wrong usage or bad input.
    """
    from studio_tui.cli.edge import run

    return run(arguments)
