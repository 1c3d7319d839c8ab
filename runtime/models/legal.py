"""Names and ids that a provider accepts: letters, digits, `_` and `-`, of a bounded length, and still distinct."""

from __future__ import annotations

import re
from collections.abc import Iterable

LONGEST_ID = 40
LONGEST_NAME = 64

_ILLEGAL = re.compile(r"[^a-zA-Z0-9_-]")


class Distinct:
    """Gives each text a legal spelling that it gave to none before; the same texts in order get the same spellings."""

    def __init__(self, longest: int, blank: str) -> None:
        self._longest, self._blank = longest, blank
        self._taken: set[str] = set()

    def spell(self, text: str) -> str:
        """The spelling of `text`: itself, if it is legal and not taken."""
        stem = _ILLEGAL.sub("_", text)[: self._longest] or self._blank
        spelled, n = stem, 1
        while spelled in self._taken:
            n += 1
            mark = f"_{n}"
            spelled = stem[: self._longest - len(mark)] + mark
        self._taken.add(spelled)
        return spelled


class Names:
    """The tool names of one request, both ways: `sent` to the provider, `meant` when it says them back."""

    def __init__(self, names: Iterable[str]) -> None:
        distinct = Distinct(LONGEST_NAME, "unnamed")
        self._sent = {name: distinct.spell(name) for name in dict.fromkeys(names)}
        self._meant = {spelled: name for name, spelled in self._sent.items()}

    def sent(self, name: str) -> str:
        """How `name`, one of those given, is spelled on the wire."""
        return self._sent[name]

    def meant(self, spelled: str) -> str:
        """The name that `spelled` stands for; itself, if the model made it up."""
        return self._meant.get(spelled, spelled)
