"""A thread's rows: what is stored, where it came from, and the rows that cannot be read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias, cast, get_args

from runtime.errors import BadInput
from runtime.values.json import Json, JsonObject, clean, clean_json

Role = Literal["user", "assistant", "tool", "system"]
ROLES: tuple[Role, ...] = get_args(Role)

Window: TypeAlias = "int | Literal['all']"
"""How many stored rows a turn selects: a count (0 or less is none, S3) or `all`."""

DEFAULT_WINDOW = 6

_WINDOW = re.compile(r"-?[0-9]+\Z", re.ASCII)


def read_window(text: str, *, file: str = "", line: int | None = None, field: str = "historyWindow") -> Window:
    """The window that the plain scalar `text` means: `-?[0-9]+` or `all` (S3).

    Raises BadInput with file, line and field for anything else.
    """
    if text == "all":
        return "all"
    if _WINDOW.match(text) and len(text) <= 4000:
        return int(text)
    raise BadInput(f"a window is a whole number or all, not {text!r}", file=file, line=line, field=field)


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a copied row was first stored: thread id and seq (S1, H1)."""

    thread: str
    seq: int


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A row to append. Text and parts are made storable here, so every store keeps the same (S8).

    `parts` is None or a list of JSON objects; `source` is the line or JSON pointer it was read from; `flags` are
    words such as `summary` or `hidden` that an import sets.

    Raises BadInput for a role that is none of the four, or text that is no text.
    """

    role: Role
    text: str
    parts: tuple[JsonObject, ...] | None = None
    source: str | None = None
    flags: tuple[str, ...] = ()
    origin: Origin | None = None

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise BadInput(f"a role is one of {', '.join(ROLES)}, not {self.role!r}", field="role")
        if not isinstance(self.text, str):
            raise BadInput(f"a message's text is a text, not {type(self.text).__name__}", field="text")
        object.__setattr__(self, "text", clean(self.text))
        if self.parts is not None:
            parts = tuple(cast(JsonObject, clean_json(part)) for part in self.parts)
            object.__setattr__(self, "parts", parts)
        if self.source is not None:
            object.__setattr__(self, "source", clean(self.source))

    @classmethod
    def storable(
        cls,
        role: Role,
        text: str,
        parts: tuple[JsonObject, ...] | None = None,
        source: str | None = None,
        flags: tuple[str, ...] = (),
    ) -> NewMessage:
        """A row of values that were checked and made storable before, at a third of the price of checking again."""
        row = cls.__new__(cls)
        _put_role(row, role)
        _put_text(row, text)
        _put_parts(row, parts)
        _put_source(row, source)
        _put_flags(row, flags)
        _put_origin(row, None)
        return row


# A frozen dataclass sets each field through object.__setattr__; its slots take the same values at half the price.
_put_role, _put_text, _put_parts, _put_source, _put_flags, _put_origin = (
    getattr(NewMessage, slot).__set__ for slot in NewMessage.__slots__
)


@dataclass(frozen=True, slots=True)
class Message:
    """One stored row (S1). `seq` counts 1, 2, 3 ... in its thread; `turn` is the id of the turn that wrote it.

    `id` is the store-wide insertion number: two rows are the same row when they have it in common (forks read the
    rows of their base). A store made by others may leave it 0. `at` is aware, UTC.
    """

    seq: int
    role: Role
    text: str
    parts: tuple[JsonObject, ...] | None
    turn: str | None
    at: datetime
    id: int = 0
    origin: Origin | None = None
    source: str | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A row that cannot be decoded (S6): it takes no place in a window and is named with what is wrong."""

    seq: int
    problem: str
    id: int = 0


Row: TypeAlias = "Message | Unreadable"


def tool_call_part(id: str, name: str, arguments: Json) -> JsonObject:
    """The structured part of an assistant row that made a call."""
    return {"type": "tool_call", "id": id, "name": name, "arguments": arguments}


def tool_result_part(call: str, name: str, *, error: bool = False) -> JsonObject:
    """The structured part of a tool row: which call it answers. The result itself is the row's text (A2)."""
    return {"type": "tool_result", "call": call, "name": name, "error": error}


def calls_of(parts: Iterable[Mapping[str, Json]] | None) -> tuple[JsonObject, ...]:
    """The `tool_call` parts of a row, in order."""
    return tuple(part for part in parts or () if part.get("type") == "tool_call")
