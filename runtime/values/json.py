"""JSON as a type, and the one way text from outside is made storable (S8)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "None | bool | int | float | str | Sequence[Json] | Mapping[str, Json]"
JsonObject: TypeAlias = Mapping[str, Json]

_SURROGATE = re.compile("[\ud800-\udfff]")


def clean(text: str) -> str:
    """`text` with NUL and lone surrogates replaced by U+FFFD, so that every store gives back the same text (S8).

    Two surrogates that make a pair, as when a reply was cut between them and joined again, become their character.
    """
    if not text.isascii() and _SURROGATE.search(text):
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text.replace("\x00", "\ufffd") if "\x00" in text else text


def clean_json(value: Json) -> Json:
    """`value` with every text inside it, keys too, made storable as `clean` does."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(key): clean_json(item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [clean_json(item) for item in value]
    return value


def compact(value: Json) -> str:
    """`value` as JSON without blanks, non-ASCII kept as it is: what a result looks like in text (A2)."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_text(value: Json) -> str:
    """A text as it is, anything else as compact JSON (A2)."""
    return value if isinstance(value, str) else compact(value)
