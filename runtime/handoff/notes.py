"""What an agent's thread knows: its values, and beside them who gave each, what was asked, what is private."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal, cast

from runtime.abl.project import AgentSource
from runtime.abl.scope import text
from runtime.handoff.strategy import Place
from runtime.values.json import Json, JsonObject
from runtime.values.understanding import NOTES

KEY: Final = NOTES
"""The key of the thread's state that is no value: conditions, templates and models do not see it."""

Giver = Literal["customer", "pass", "set", "default", "return"]
"""Who gave a value. What a `default` gave is replaced by the customer's word as if it were unset."""


@dataclass(frozen=True, slots=True)
class Secret:
    """A sensitive value as it was said, and its field's name."""

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class Notes:
    """What an agent remembers beside its values.

    `asked` is the field its last answer asked for, empty for none; `completed` that its COMPLETE has fired;
    `sensitive` that a sensitive field got a value from the customer here, in the rows `private` (H2), and `secrets`
    are those values, replaced and refused ones too (Q3).
    """

    givers: Mapping[str, Giver] = field(default_factory=dict)
    asked: str = ""
    completed: bool = False
    sensitive: bool = False
    private: tuple[Place, ...] = ()
    secrets: tuple[Secret, ...] = ()

    def gathered(self) -> tuple[str, ...]:
        """The names of the values that the customer gave here."""
        return tuple(name for name, giver in self.givers.items() if giver == "customer")

    def given(self, names: Iterable[str], by: Giver) -> Notes:
        """The notes when `names` have got values by `by`."""
        return replace(self, givers={**self.givers, **dict.fromkeys(names, by)})

    def told(self, name: str, value: Json, place: Place | None) -> Notes:
        """The notes when the customer told the sensitive field `name` in the row at `place`."""
        secret = Secret(name, text(value))
        return replace(
            self,
            sensitive=True,
            private=self.private if place is None or place in self.private else (*self.private, place),
            secrets=self.secrets if secret in self.secrets else (*self.secrets, secret),
        )

    def json(self) -> JsonObject:
        """As it stands in the thread's state."""
        return {
            "givers": dict[str, Json](self.givers),
            "asked": self.asked,
            "completed": self.completed,
            "sensitive": self.sensitive,
            "private": [list(place) for place in self.private],
            "secrets": [[one.name, one.text] for one in self.secrets],
        }


def notes_of(state: JsonObject) -> Notes:
    """The notes in a thread's state; those of a thread without any are empty."""
    kept = state.get(KEY)
    if not isinstance(kept, Mapping):
        return Notes()
    raw = cast("Mapping[str, Any]", kept)
    return Notes(
        dict(raw.get("givers", {})),
        str(raw.get("asked", "")),
        raw.get("completed") is True,
        raw.get("sensitive") is True,
        tuple((str(thread), int(seq)) for thread, seq in raw.get("private", ())),
        tuple(Secret(str(name), str(said)) for name, said in raw.get("secrets", ())),
    )


def values_of(state: JsonObject) -> dict[str, Json]:
    """The values in a thread's state."""
    return {name: value for name, value in state.items() if name != KEY}


def state_of(values: JsonObject, notes: Notes) -> dict[str, Json]:
    """Values and notes as the state of a thread."""
    return {**values, KEY: notes.json()}


def first_state(source: AgentSource) -> dict[str, Json]:
    """The state of a fresh thread of this agent: what MEMORY and the fields' defaults give."""
    values: dict[str, Json] = {one.name: one.initial for one in source.memory if one.initial is not None}
    defaults = {one.name: one.default for one in source.fields if one.default is not None and one.name not in values}
    return state_of({**values, **defaults}, Notes().given(defaults, "default"))


def sensitive_names(sources: Iterable[AgentSource]) -> frozenset[str]:
    """The names of the fields that are marked sensitive anywhere in the project."""
    return frozenset(one.name for source in sources for one in source.fields if one.sensitive)


def secrets_in(state: JsonObject, sensitive: Iterable[str]) -> list[Secret]:
    """What must not be shown of a thread's state: what the customer told, and what sensitive fields have otherwise."""
    held = [Secret(name, text(state[name])) for name in sorted(sensitive) if state.get(name) is not None]
    return list(dict.fromkeys([*notes_of(state).secrets, *held]))


def shown_values(values: JsonObject, sensitive: frozenset[str], order: Sequence[str]) -> dict[str, str]:
    """The values as a model reads them, those in `order` first; of sensitive ones it reads that they are known."""
    names = [*(name for name in order if name in values), *(name for name in values if name not in order)]
    return {
        name: f"[sensitive: {name}]" if name in sensitive else text(values[name])
        for name in names
        if name != "intent" and values[name] is not None
    }
