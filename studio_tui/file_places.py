"""Which file and line stand behind what is highlighted: the seed's message, the agent's window, instructions, tools."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from runtime.errors import BadInput

if TYPE_CHECKING:
    from runtime.values.agent import Agent
    from runtime.values.seed import Seed

Kind = Literal["seed", "agent"]


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A line (from 1) of a file that people write. `shipped` files belong to the program and are copied first."""

    kind: Kind
    path: Path
    line: int
    shipped: bool


_FIELDS = {"section:instructions": "instructions", "section:tools": "tools", "tool": "tools", "window": "historyWindow"}
"""Which field of an agent file a line of CONTEXT is about."""


def place_of(line: str, seed: Seed | None, agent: Agent | None, *, kind: Kind | None = None) -> FilePlace | None:
    """Where the highlighted `line` (its id) comes from; `kind` asks for the one or the other file.

    Rows stand in the seed, instructions and tools in the agent's file, everything else in the seed if there is one.
    None without a file.
    """
    field = _FIELDS.get(line.partition(":text")[0], "") or _FIELDS.get(line.partition(":")[0], "")
    wanted: Kind = kind or ("agent" if field else "seed")
    if wanted == "seed" and (seed is None or not seed.file) and kind is None:
        wanted = "agent"
    if wanted == "agent":
        if agent is None or not agent.file:
            return None
        return FilePlace("agent", Path(agent.file), _line_of(Path(agent.file), field, agent.line or 1), agent.shipped)
    if seed is None or not seed.file:
        return None
    seq = line.removeprefix("row:").partition(":")[0]
    number = int(seq) if line.startswith("row:") and seq.isdigit() else 0
    return FilePlace("seed", Path(seed.file), _line_of_row(Path(seed.file), number), seed.shipped)


def _line_of(path: Path, field: str, otherwise: int) -> int:
    """The line of a field of an agent, in its own file or in place in a seed."""
    from runtime.files import Table, read_yaml

    try:
        root = read_yaml(path)
    except BadInput as error:
        return error.line or otherwise
    for node in (root, root.entries.get("agent") if isinstance(root, Table) else None):
        if isinstance(node, Table) and field in node.keys:
            return node.keys[field].line
    return otherwise


def _line_of_row(path: Path, seq: int) -> int:
    """The line where a seed's message begins; the seed's first line for a row that the seed did not write."""
    from runtime.files import Listing, Table, read_yaml

    try:
        root = read_yaml(path)
    except BadInput as error:
        return error.line or 1
    messages = root.entries.get("messages") if isinstance(root, Table) else None
    if isinstance(messages, Listing) and 1 <= seq <= len(messages.items):
        return messages.items[seq - 1].line
    return 1
