"""What is kept of an experiment, as JSON and back: what was to be tried, and which cell of it a run belongs to."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from runtime.errors import StoreError
from runtime.experiments.enough import Enough, Predicate
from runtime.experiments.results import AblateSpec, PieceKind, SweepSpec, Variant
from runtime.subject import Changes, Subject
from runtime.values.json import Json, JsonObject, compact
from runtime.values.messages import Window

_Raw: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CellKey:
    """What a run of an experiment tried: a window under a variant, or the absence of a piece; `repeat` from 1."""

    variant: Variant
    window: Window
    repeat: int
    bisected: bool = False
    piece: tuple[PieceKind, int | str] | None = None

    def text(self) -> str:
        """As it stands in the turn's row."""
        value: dict[str, Json] = {"window": self.window, "repeat": self.repeat}
        if self.variant.agent is not None:
            value["agent"] = self.variant.agent
        if self.variant.model is not None:
            value["model"] = self.variant.model
        if self.bisected:
            value["bisected"] = True
        if self.piece is not None:
            value["piece"] = list(self.piece)
        return compact(value)

    @classmethod
    def read(cls, text: str) -> CellKey:
        """The key that `text` wrote. Raises StoreError for anything else."""
        try:
            raw: _Raw = json.loads(text)
            piece = raw.get("piece")
            return cls(
                Variant(raw.get("agent"), raw.get("model")),
                raw["window"],
                raw["repeat"],
                raw.get("bisected", False),
                None if piece is None else (piece[0], piece[1]),
            )
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise StoreError(f"a run's cell is damaged and cannot be read: {text[:80]!r}") from error


def asked_json(subject: Subject) -> dict[str, Json]:
    """Which request was under study at which point, the agent's name and its window."""
    return {
        "request": subject.request,
        "upto": subject.upto,
        "agent": subject.agent.name,
        "window": subject.window,
    }


def with_asked(subject: Subject, value: JsonObject, *, to_run: bool) -> Subject:
    """A subject with the request that `asked_json` wrote; one that is only looked at has the agent's name and window
    from there too."""
    raw: _Raw = value
    asked = replace(subject, request=raw["request"])
    if to_run:
        return asked
    return replace(asked, agent=replace(subject.agent, name=raw["agent"]), window=raw["window"])


def sweep_spec_json(spec: SweepSpec) -> dict[str, Json]:
    """What a sweep was to try."""
    return {
        "windows": list(spec.windows),
        "models": list(spec.models),
        "agents": list(spec.agents),
        "repeats": spec.repeats,
        "enough": _enough_json(spec.enough),
        "smallest": spec.smallest,
        "changes": _changes_json(spec.changes),
        "concurrency": spec.concurrency,
        "marks": dict(spec.marks),
    }


def sweep_spec_from_json(value: JsonObject) -> SweepSpec:
    """The spec that `sweep_spec_json` wrote."""
    raw: _Raw = value
    return SweepSpec(
        tuple(raw["windows"]),
        tuple(raw["models"]),
        tuple(raw["agents"]),
        raw["repeats"],
        _enough_from_json(raw["enough"]),
        raw["smallest"],
        _changes_from_json(raw["changes"]),
        raw["concurrency"],
        dict(raw["marks"]),
    )


Bisected: TypeAlias = "frozenset[tuple[Variant, Window]]"
"""The windows that a search for the edge added, each with its variant."""


def planned_json(windows: Mapping[Variant, Sequence[Window]], bisected: Bisected = frozenset()) -> Json:
    """The windows of each variant."""
    return [
        {
            "agent": variant.agent,
            "model": variant.model,
            "windows": list(those),
            "bisected": [window for window in those if (variant, window) in bisected],
        }
        for variant, those in windows.items()
    ]


def planned_from_json(value: JsonObject) -> tuple[dict[Variant, list[Window]], Bisected]:
    """The windows that `planned_json` wrote under `planned`, and which of them were added."""
    raw: _Raw = value
    windows: dict[Variant, list[Window]] = {}
    added: set[tuple[Variant, Window]] = set()
    for one in raw["planned"]:
        variant = Variant(one["agent"], one["model"])
        windows[variant] = list(one["windows"])
        added.update((variant, window) for window in one["bisected"])
    return windows, frozenset(added)


def ablate_spec_json(spec: AblateSpec) -> dict[str, Json]:
    """What leaving one out was to try."""
    return {
        "window": spec.window,
        "kinds": list(spec.kinds),
        "repeats": spec.repeats,
        "enough": _enough_json(spec.enough),
        "changes": _changes_json(spec.changes),
        "variant": {"agent": spec.variant.agent, "model": spec.variant.model},
        "concurrency": spec.concurrency,
        "marks": dict(spec.marks),
    }


def ablate_spec_from_json(value: JsonObject) -> AblateSpec:
    """The spec that `ablate_spec_json` wrote."""
    raw: _Raw = value
    return AblateSpec(
        raw["window"],
        tuple(raw["kinds"]),
        raw["repeats"],
        _enough_from_json(raw["enough"]),
        _changes_from_json(raw["changes"]),
        Variant(raw["variant"]["agent"], raw["variant"]["model"]),
        raw["concurrency"],
        dict(raw["marks"]),
    )


def _enough_json(enough: Enough) -> dict[str, Json]:
    return {"predicates": [[one.word, one.value] for one in enough.predicates], "at_least": enough.at_least}


def _enough_from_json(raw: _Raw) -> Enough:
    return Enough(tuple(Predicate(word, value) for word, value in raw["predicates"]), raw["at_least"])


def _changes_json(changes: Changes) -> dict[str, Json]:
    return {
        "tools": changes.tools,
        "drop": list(changes.drop),
        "edit": _texts(changes.edit),
        "views": _texts(changes.views),
        "blocks": _texts(changes.blocks),
        "results": _texts(changes.results),
    }


def _changes_from_json(raw: _Raw) -> Changes:
    return Changes(
        raw["tools"],
        tuple(raw["drop"]),
        _numbered(raw["edit"]),
        raw["views"],
        _numbered(raw["blocks"]),
        raw["results"],
    )


def _texts(given: Mapping[int, str] | Mapping[int, str | None] | Mapping[str, str | None] | None) -> Json:
    return None if given is None else {str(key): text for key, text in given.items()}


def _numbered(raw: _Raw | None) -> dict[int, Any] | None:
    return None if raw is None else {int(number): text for number, text in raw.items()}
