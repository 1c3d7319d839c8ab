"""The edge of the command: whatever goes wrong becomes one line for people and an exit status, never a traceback."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

import click

from runtime.errors import BadInput, StudioError, UnknownExperiment, UnknownThread, UnknownTurn
from studio_tui.cli.output import tell

DONE, NOT_HELD, BAD = 0, 1, 2
"""The exit statuses: done; what was asked for did not hold; wrong usage or bad input."""

DEBUG = "--debug"


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status. `--debug` anywhere before `--` keeps the details of a crash."""
    words, debug = _without_debug(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # a sign that the terminal's encoding lacks is no reason to stop
    try:
        return _run(words)
    except StudioError as error:
        tell(f"error: {error}")
        return BAD if isinstance(error, BadInput | UnknownThread | UnknownTurn | UnknownExperiment) else NOT_HELD
    except (KeyboardInterrupt, click.Abort):
        tell("stopped")
        return NOT_HELD
    except BrokenPipeError:
        _let_stdout_go()
        return NOT_HELD
    except Exception as error:  # noqa: BLE001 - the edge: a user never sees a traceback
        tell(_crashed(error, debug))
        return NOT_HELD


def _run(words: list[str]) -> int:
    from studio_tui.cli.root import command

    try:
        status = command.main(words, prog_name="studio-tui", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        tell(_usage(error))
        return BAD
    return status if isinstance(status, int) else DONE


def _usage(error: click.ClickException) -> str:
    where = f"\ntry: {error.ctx.command_path} --help" if isinstance(error, click.UsageError) and error.ctx else ""
    return f"error: {error.format_message()}{where}"


def _without_debug(words: Sequence[str]) -> tuple[list[str], bool]:
    end = words.index("--") if "--" in words else len(words)
    kept = [word for at, word in enumerate(words) if at >= end or word != DEBUG]
    return kept, len(kept) < len(words)


def _let_stdout_go() -> None:
    """Whoever read our output has gone: what is still buffered must not fail again when Python ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _crashed(error: Exception, debug: bool) -> str:
    said = " ".join(str(error).split())[:200]
    line = f"internal error: {type(error).__name__}{': ' if said else ''}{said}"
    if not debug:
        return f"{line} (run it again with {DEBUG} to keep the details in a file)"
    return f"{line} (details in {_keep(error)})"


def _keep(error: Exception) -> str:
    """Write the traceback to a file of its own; returns its path. Values of variables are not in it (Q3)."""
    import tempfile
    import traceback

    with tempfile.NamedTemporaryFile("w", prefix="studio-tui-", suffix=".txt", delete=False, encoding="utf-8") as file:
        file.writelines(traceback.format_exception(error))
    return file.name
