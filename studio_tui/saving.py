"""Saving a text to a file of the current folder: a name cannot leave it, and nothing is overwritten (Q4)."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.errors import BadInput


def problem_of(name: str, folder: Path) -> str:
    """Why `name` cannot be used for a new file in `folder`; empty if it can."""
    if not name.strip():
        return "a file needs a name"
    if "\x00" in name:
        return "a name holds no NUL"
    if "/" in name or "\\" in name or name in (".", ".."):
        return f"{name!r} is no plain name: it is saved in {folder}"
    if (folder / name).is_symlink():
        return f"{name} is a link to somewhere else"
    if (folder / name).exists():
        return f"{name} is there already; another name, please"
    return ""


def save(text: str, name: str, folder: Path) -> Path:
    """Write `text` to the new file `name` of `folder`. Raises BadInput."""
    problem = problem_of(name, folder)
    if problem:
        raise BadInput(problem, field="name")
    path = folder / name
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), 0o600)
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)
    except OSError as error:
        raise BadInput(f"it could not be written: {error.strerror}", file=str(path)) from error
    return path
