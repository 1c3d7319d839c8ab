"""Writing a history window into the file an agent was read from: one line changes, all else stays as it was written."""

from __future__ import annotations

import difflib
import os
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from runtime.agents import read_agent
from runtime.errors import BadInput
from runtime.fields import Problems
from runtime.files import Node, Scalar, Table, decoded, parse, read_bytes
from runtime.values.agent import Agent
from runtime.values.messages import Window

KEY = "historyWindow"


@dataclass(frozen=True, slots=True)
class WindowChange:
    """A change that is shown before it is written. `before` is what the file was read as, `after` what it becomes.

    `was` is the window the file gives (6 where the key is left out, S3), `line` where the new line stands, from 1.
    """

    path: Path
    before: bytes
    after: bytes
    agent: str
    was: Window
    window: Window
    line: int

    @property
    def diff(self) -> tuple[str, ...]:
        """The change as the lines of a unified diff, without line ends; empty if the file says it already."""
        old, new = (content.decode("utf-8", "replace").splitlines() for content in (self.before, self.after))
        return tuple(difflib.unified_diff(old, new, str(self.path), str(self.path), n=2, lineterm=""))


def window_change(agent: Agent, window: Window, *, to: Path | None = None) -> WindowChange:
    """What writing `window` into the file of `agent` would change; nothing is written.

    `to` is where a copy is to be written instead. Raises BadInput for an agent without a file, and for a file in which
    the agent is not found as it was read.
    """
    if not agent.file:
        raise BadInput(f"agent {agent.name} has no file: it was made in a program")
    before = read_bytes(Path(agent.file))
    text = decoded(before, agent.file)
    table = _table(parse(text, file=agent.file), agent)
    changed, line = _changed(text, table, str(window))
    known = _read(table, agent)
    again = _read(_table(parse(changed, file=agent.file), agent), agent)
    if again.window != window or _but_window(again) != _but_window(known):
        raise BadInput(f"{KEY} could not be written here without changing more", file=agent.file, line=line)
    mark = b"\xef\xbb\xbf" if before.startswith(b"\xef\xbb\xbf") else b""
    after = mark + changed.encode("utf-8", "surrogatepass")
    return WindowChange(to or Path(agent.file), before, after, agent.name, known.window, window, line)


def write_window(change: WindowChange) -> None:
    """Write the change whole or not at all. Raises BadInput if the file is another one by now, or cannot be written.

    A copy is a new file: one that is there already is not overwritten. A link is followed: the path is the user's own.
    """
    path = Path(os.path.realpath(change.path))
    try:
        current = path.read_bytes() if path.exists() else None
        if current is not None and current != change.before:
            raise BadInput("has changed since the difference was shown; look again", file=str(change.path))
        _replace(path, change.after, stat.S_IMODE(path.stat().st_mode) if current is not None else 0o644)
    except OSError as error:
        raise BadInput(f"cannot be written: {error.strerror or error}", file=str(change.path)) from error


def _replace(path: Path, content: bytes, mode: int) -> None:
    """The new content under the old name, in one step."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _table(root: Node, agent: Agent) -> Table:
    """The table of the agent: the file itself, or the `agent` of a seed that holds it in place."""
    for node in (root, root.entries.get("agent") if isinstance(root, Table) else None):
        name = node.entries.get("agent") if isinstance(node, Table) else None
        if isinstance(node, Table) and isinstance(name, Scalar) and name.text == agent.name and not _is_seed(node):
            return node
    raise BadInput(f"agent {agent.name} is no longer in this file", file=agent.file, line=agent.line)


def _is_seed(table: Table) -> bool:
    """Whether a table that names an agent is a seed that uses it, not the agent itself."""
    return bool({"seed", "messages"} & table.entries.keys())


def _read(table: Table, agent: Agent) -> Agent:
    problems = Problems(agent.file)
    found = read_agent(table, problems, shipped=agent.shipped)
    problems.raise_first()
    return found


def _but_window(agent: Agent) -> tuple[object, ...]:
    return tuple(getattr(agent, name) for name in Agent.__slots__ if name not in ("window", "line"))


def _changed(text: str, table: Table, window: str) -> tuple[str, int]:
    """The text with the window in it, and the line where it stands."""
    lines = text.splitlines(keepends=True)
    value = table.entries.get(KEY)
    if isinstance(value, Scalar):
        at = _offset(text, value.line, value.column)
        end = at
        while end < len(text) and text[end] not in " \t\r\n,}#":
            end += 1
        return text[:at] + window + text[end:], value.line
    first = next(iter(table.keys.values()))
    at = _offset(text, first.line, first.column)
    flow = table.line < first.line or table.column < first.column
    if flow:
        return text[:at] + f"{KEY}: {window}, " + text[at:], first.line
    end_of_line = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    after = _line_after(table, first, lines)
    if after is None:  # the first value runs over several lines, or is the last one: the key goes before it
        return text[:at] + f"{KEY}: {window}{end_of_line}{' ' * (first.column - 1)}" + text[at:], first.line
    start = _offset(text, after, 1)
    return text[:start] + f"{' ' * (first.column - 1)}{KEY}: {window}{end_of_line}" + text[start:], after


def _line_after(table: Table, first: Scalar, lines: list[str]) -> int | None:
    """The line after the first key, where another key of the table begins on it."""
    others = {key.line for key in table.keys.values()}
    return first.line + 1 if first.line + 1 in others and first.line < len(lines) else None


def _offset(text: str, line: int, column: int) -> int:
    """Where a line (by line ends as YAML counts them) and column of a text stand, both from 1."""
    at = 0
    for _ in range(line - 1):
        found = next((at + n for n in range(len(text) - at) if text[at + n] in "\r\n"), len(text))
        at = found + (2 if text[found : found + 2] == "\r\n" else 1)
    return at + column - 1
