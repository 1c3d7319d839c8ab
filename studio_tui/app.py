"""The door to the Studio: opens it on what is named, and says how to come back. Light until it is opened."""

from __future__ import annotations

import gc
import os
import sys
from typing import TYPE_CHECKING

from runtime.errors import BadInput
from runtime.values.messages import read_window

if TYPE_CHECKING:
    from runtime.threads import Runtime


def open_studio(
    *,
    store: str,
    target: str | None = None,
    seed: str | None = None,
    agent: str | None = None,
    window: str | None = None,
    model: str | None = None,
    allow_tools: bool = False,
) -> int:
    """Open the Studio on what is named; returns the exit status when it is left.

    `target` is a thread, a turn, a file or a folder, told apart by content; `window` a whole number or `all`. Raises
    StudioError if it cannot be opened: what was named is not there, a file cannot be used, there is no terminal.
    """
    if window is not None:
        read_window(window, field="--window")
    take_keyboard()
    gc.disable()  # what is imported stays; collecting it costs a sixth of the start. On again with the first content
    from studio_tui.studio import StudioApp

    def open_runtime() -> Runtime:
        from runtime.stores import open_store
        from runtime.threads import Runtime
        from studio_tui.cli.session import user_settings

        return Runtime(open_store(store), allow_tools=allow_tools, model=model, settings=user_settings)

    app = StudioApp(open_runtime, store_url=store, target=target, seed=seed, agent=agent, window=window)
    try:
        app.run()
    finally:
        gc.enable()
    if app.failure is not None:
        raise app.failure
    if app.came_from is not None and store != "memory:":
        sys.stdout.write(f"come back with: studio-tui {app.came_from} --store {store}\n")
    return app.return_code or 0


def take_keyboard() -> None:
    """Where stdin is piped, read the keys from the terminal itself. Raises BadInput if there is none."""
    if sys.__stdin__ is not None and sys.__stdin__.isatty():
        return
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        raise BadInput("the Studio needs a terminal; `studio-tui run` works without one") from error
    os.dup2(terminal, 0)
    os.close(terminal)
    if sys.__stdin__ is None or sys.__stdin__.closed:
        sys.__stdin__ = os.fdopen(0)  # type: ignore[misc]  # Textual reads this one
