"""What the Studio is opened on: a thread, a turn, a seed, an agent, a conversation file, told apart by content."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.errors import BadInput, UnknownThread, UnknownTurn
from studio_tui.importing import Asks, Progress, import_file

if TYPE_CHECKING:
    from runtime.stores import Thread
    from runtime.threads import Runtime

ABL, MANIFEST = ".agent.abl", "project.json"

MOST_FOLDERS = 2_000
"""Folders that are looked into for agent files; what holds more is no project."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where to begin: a thread, one of its turns (None: its last), a folder to pick from, a project's folder, or a
    session with a project (`thread` then names one of its threads, if one was asked for). `told` is said then."""

    thread: str | None = None
    turn: str | None = None
    folder: Path | None = None
    told: str = ""
    project: Path | None = None
    session: str | None = None


async def find(
    runtime: Runtime,
    target: str | None,
    *,
    seed: str | None,
    agent: str | None,
    progress: Progress | None = None,
    asks: Asks | None = None,
) -> Place:
    """The place that is meant. Threads that are needed are made. Raises BadInput, ConfigurationError.

    `target` and `seed` together are a contradiction. Neither: a place without a thread, to pick from.
    """
    if target is not None and seed is not None:
        raise BadInput(f"open {target!r} or seed a thread with {seed!r}, not both", field="--seed")
    if seed is not None:
        return Place(await runtime.create_thread(seed=seed, agent=agent or ""))
    if target is None:
        return Place(await runtime.create_thread(agent=agent)) if agent else Place()
    stored = await _stored(runtime, target)
    if stored is not None:
        return stored
    return await _named(runtime, target, agent, progress, asks)


async def open_file(
    runtime: Runtime,
    path: Path,
    *,
    agent: str | None = None,
    progress: Progress | None = None,
    asks: Asks | None = None,
) -> Place:
    """A thread from a file: a seed and an agent file make a fresh one, a conversation is imported.

    `progress` is told how far reading is; what it raises stops it. `asks` says which conversation of several is meant;
    a place without a thread if none is. Raises BadInput with file, line and field.
    """
    kind = kind_of(path)
    if kind == "seed":
        return Place(await runtime.create_thread(seed=path, agent=agent or ""))
    if kind == "agent":
        if agent:
            raise BadInput("this is an agent file; --agent names another one", file=str(path), field="--agent")
        return Place(await runtime.create_thread(agent=str(path)))
    imported = await import_file(runtime, path, progress=progress, asks=asks)
    return Place() if imported is None else Place(imported[0], told=imported[1])


def kind_of(path: Path) -> str:
    """`seed`, `agent` or `conversation`, by what the file begins with. Raises BadInput if it cannot be read."""
    try:
        with path.open("rb") as file:
            head = file.read(65_536)
    except OSError as error:
        raise BadInput(f"it cannot be read: {error.strerror}", file=str(path)) from error
    text = head.decode("utf-8-sig", "replace")
    if text.lstrip().startswith(("{", "[")):
        return "conversation"
    for line in text.split("\n"):
        key = line.partition(":")[0].rstrip()
        if key in ("seed", "messages", "script", "try", "expect"):
            return "seed"
        if key in ("agent", "instructions", "historyWindow", "tiers"):
            return _of_agent_key(text)
    return "seed" if path.suffix in (".yaml", ".yml") else "conversation"


def _of_agent_key(text: str) -> str:
    """Seeds name an agent too; an agent file has no `seed` and no `messages`."""
    keys = {line.partition(":")[0].rstrip() for line in text.split("\n")}
    return "seed" if keys & {"seed", "messages"} else "agent"


def path_of(typed: str, folder: Path | None = None) -> Path | None:
    """The file or folder that a text names (relative to `folder`), None if there is none."""
    if not typed or "\x00" in typed:
        return None
    try:
        path = Path(typed).expanduser()
        path = path if path.is_absolute() or folder is None else folder / path
        return path if path.exists() else None
    except (OSError, RuntimeError):
        return None


async def _stored(runtime: Runtime, target: str) -> Place | None:
    """The thread, or the turn, that has exactly this id."""
    try:
        thread = await runtime.store.thread(target)
        return Place(target, session=_session_of(thread))
    except UnknownThread:
        pass
    try:
        turn = await runtime.store.turn(target)
    except UnknownTurn:
        return None
    while turn.parent is not None:
        turn = await runtime.store.turn(turn.parent)
    return Place(turn.thread, turn.id, session=_session_of(await runtime.store.thread(turn.thread)))


def _session_of(thread: Thread) -> str | None:
    """The session with a project that the thread belongs to."""
    if not thread.about:
        return None
    from runtime.handoff.masking import session_of

    return session_of(thread)


def project_of(path: Path) -> Path | None:
    """The folder of the ABL project that a path means; None if it means none.

    A folder that holds agent files at any depth and no project below it; of an agent file, or of project.json, the
    folder with project.json above it, else its own.
    """
    if path.is_file():
        if not path.name.endswith(ABL) and path.name != MANIFEST:
            return None
        return next((one for one in path.absolute().parents if (one / MANIFEST).is_file()), path.absolute().parent)
    agents = False
    for walked, (at, folders, files) in enumerate(os.walk(path)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        if walked > MOST_FOLDERS or (MANIFEST in files and at != str(path)):
            return None
        agents = agents or any(name.endswith(ABL) for name in files)
        if agents and (path / MANIFEST).is_file():
            return path
    return path if agents else None


async def _named(runtime: Runtime, name: str, agent: str | None, progress: Progress | None, asks: Asks | None) -> Place:
    """A folder, a file, else a shipped seed."""
    from runtime.seeds import shipped_seed_names

    path = path_of(name)
    project = project_of(path) if path is not None else None
    if project is not None:
        return Place(project=project)
    if path is not None and path.is_dir():
        return Place(folder=path)
    if path is not None:
        return await open_file(runtime, path, agent=agent, progress=progress, asks=asks)

    if name in shipped_seed_names():
        return Place(await runtime.create_thread(seed=name, agent=agent or ""))
    raise BadInput(
        f"{name!r} is no thread or turn of this store, no file or folder, and no shipped seed "
        f"({', '.join(shipped_seed_names())})"
    )
