"""What the command prints: one JSON document or text on stdout, words for people on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar

from runtime.values.json import Json, clean
from studio_tui.visible import visible

_masked_text: ContextVar[Callable[[str], str]] = ContextVar("masked_text", default=lambda text: text)
_masked_json: ContextVar[Callable[[Json], Json]] = ContextVar("masked_json", default=lambda value: value)


def print_json(value: Json) -> None:
    """One JSON document and nothing else on stdout; control characters are escaped as JSON does.

    Numbers that JSON does not know (NaN, infinity) are null. On a stdout that is not UTF-8 the document is ASCII.
    """
    value = _masked_json.get()(value)
    utf8 = (sys.stdout.encoding or "utf-8").lower().replace("-", "") == "utf8"
    try:
        text = json.dumps(value, ensure_ascii=not utf8, indent=2, default=_plain, allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=not utf8, indent=2, allow_nan=False)
    sys.stdout.write(clean(text) + "\n")


def print_text(text: str) -> None:
    """Text on stdout: what a control character would do is drawn instead (Q2)."""
    sys.stdout.write(visible(_masked_text.get()(text)) + "\n")


def tell(text: str) -> None:
    """Words for people, on stderr."""
    try:
        sys.stderr.write(visible(_masked_text.get()(text)) + "\n")
    except OSError:
        return


def use_mask(text: Callable[[str], str], value: Callable[[Json], Json]) -> None:
    """Have everything that this command prints from here on pass through these (Q3)."""
    _masked_text.set(text)
    _masked_json.set(value)


def one_line(text: str, limit: int = 72) -> str:
    """`text` on one line, its end cut off beyond `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def columns(rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> list[str]:
    """Rows of cells as aligned lines, two blanks between columns; those in `right` are set flush right."""
    table = [list(row) for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*table, strict=True)] if table else []
    return [
        "  ".join(
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    ]


def _finite(value: Json) -> Json:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_finite(item) for item in value]
    return value


def _plain(value: object) -> object:
    if hasattr(value, "items"):
        return dict(value.items())
    return list(value)  # type: ignore[call-overload]  # JSON of ours holds mappings and sequences alone
