"""Sensitive values where they must not be read: `[sensitive: NAME]` in exports, logs, JSON and on the screen (Q3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from runtime.handoff.notes import KEY, Secret, secrets_in
from runtime.stores import Ledger, Thread
from runtime.values import dialogue
from runtime.values.json import Json, JsonObject

_NO_TEXT: Final = frozenset({"turn", "thread", "id", "at", "session", "caller_thread", "first_turn", "parent"})
_VALUES: Final = frozenset({"arguments", "output", "state", "values", "passed", "set", "fields", "writes", "body"})


class Mask:
    """Puts `[sensitive: NAME]` in the place of sensitive values. Without any, everything is as it was.

    `names` are the sensitive fields: what stands under such a key is masked whatever it is. Of `secrets` the texts
    are masked wherever they stand alone, in any case.
    """

    def __init__(self, names: Iterable[str] = (), secrets: Iterable[Secret] = ()) -> None:
        self.names = frozenset(names)
        self.secrets = tuple(secrets)
        spelled = {form.casefold(): secret.name for secret in self.secrets for form in _forms(secret.text)}
        self._names_of = spelled
        forms = sorted(spelled, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(_alone, forms)), re.IGNORECASE) if forms else None

    @classmethod
    def joined(cls, masks: Iterable[Mask]) -> Mask:
        """One mask that does what all of these do."""
        each = list(masks)
        secrets = dict.fromkeys(secret for mask in each for secret in mask.secrets)
        return cls({name for mask in each for name in mask.names}, secrets)

    def __bool__(self) -> bool:
        return bool(self.names or self._pattern)

    def text(self, text: str) -> str:
        """`text` with every sensitive value in it masked."""
        return text if self._pattern is None else self._pattern.sub(self._stand_in, text)

    def json(self, value: Json, *, inside: bool = False) -> Json:
        """A JSON value with texts masked, and what stands under the name of a sensitive field.

        Numbers are masked among values alone (arguments, results, states): elsewhere they count something. `inside`
        says that `value` is one of those.
        """
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self._member(key, item, inside) for key, item in value.items() if key != KEY}
        if isinstance(value, Sequence):
            return [self.json(item, inside=inside) for item in value]
        if inside and isinstance(value, int | float) and not isinstance(value, bool):
            shown = self.text(str(value))
            return value if shown == str(value) else shown
        return value

    def object(self, value: JsonObject) -> dict[str, Json]:
        """A JSON object, masked as `json` does."""
        masked = self.json(value)
        assert isinstance(masked, Mapping)
        return dict(masked)

    def _member(self, key: str, value: Json, inside: bool) -> Json:
        if key in self.names and value is not None and not _is_schema(value):
            return f"[sensitive: {key}]"
        if key in _NO_TEXT and isinstance(value, str):
            return value
        return self.json(value, inside=inside or key in _VALUES)

    def _stand_in(self, found: re.Match[str]) -> str:
        return f"[sensitive: {self._names_of.get(found[0].casefold(), 'value')}]"


async def mask_of(ledger: Ledger, thread: str) -> Mask:
    """The mask for a thread: that of its session if it belongs to one, else one that masks nothing."""
    known = await ledger.thread(thread)
    session = session_of(known)
    if session is None:
        return Mask()
    found: list[Thread] = []
    for id in dict.fromkeys([session, *await threads_of(ledger, session)]):
        found.append(await ledger.thread(id))
    declared = (found[0].about or {}).get("sensitive")
    names = {str(name) for name in declared} if isinstance(declared, list | tuple) else set()
    secrets = [secret for one in found for secret in secrets_in(one.state, names)]
    return Mask(names | {secret.name for secret in secrets}, secrets)


def session_of(thread: Thread) -> str | None:
    """The id of the session a thread belongs to (its first thread's), None if it belongs to none."""
    about = thread.about or {}
    if "project" in about:
        return thread.id
    session = about.get("session")
    return session if isinstance(session, str) and thread.origin == "handoff" else None


async def threads_of(ledger: Ledger, session: str) -> list[str]:
    """The threads that the handoffs of a session created, oldest first."""
    return [str(entry["thread"]) for entry in await ledger.events(session) if entry.get("event") == "handoff"]


def _forms(said: str) -> list[str]:
    """How a value may stand in a text: as it is, inside JSON, with role lines escaped (A3), a number with commas."""
    if not said.strip() or said in ("true", "false"):
        return []
    forms = [said, json.dumps(said, ensure_ascii=False)[1:-1], json.dumps(said)[1:-1], dialogue.escape(said)]
    if said.isdigit() and len(said) < 19:
        forms.append(f"{int(said):,}")
    return forms


def _alone(form: str) -> str:
    before = r"(?<!\w)" if form[0].isalnum() or form[0] == "_" else ""
    after = r"(?!\w)" if form[-1].isalnum() or form[-1] == "_" else ""
    return f"{before}{re.escape(form)}{after}"


def _is_schema(value: Json) -> bool:
    """A field in the schema of a tool is a description, no value."""
    return isinstance(value, Mapping) and ("type" in value or "enum" in value)
