"""Experiments in memory: what the memory store and adopted threads keep of them."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from datetime import datetime
from typing import cast

from runtime.errors import UnknownExperiment
from runtime.stores import Experiment
from runtime.stores.ids import experiment_id
from runtime.values.json import JsonObject, clean_json


class Experiments:
    """The experiments of a store, oldest first. Whether a thread is known is for the caller to check."""

    def __init__(self) -> None:
        self._kept: dict[str, Experiment] = {}
        self._count = 0

    def put(self, experiment: Experiment, at: datetime) -> Experiment:
        """Keep one without an id, or replace `spec` and `state` of a known one. Raises UnknownExperiment."""
        spec = cast(JsonObject, clean_json(experiment.spec))
        if experiment.id:
            kept = replace(self.get(experiment.id), spec=spec, state=experiment.state)
        else:
            self._count += 1
            id = experiment_id(self._kept.__contains__)
            kept = replace(experiment, spec=spec, id=id, number=self._count, at=at)
        self._kept[kept.id] = kept
        return kept

    def get(self, experiment: str) -> Experiment:
        """Raises UnknownExperiment."""
        try:
            return self._kept[experiment]
        except (KeyError, TypeError):
            raise UnknownExperiment(experiment) from None

    def newest_first(self, thread: str | None, limit: int | None) -> list[Experiment]:
        """Those on a thread (None: on any)."""
        found = [one for one in reversed(self._kept.values()) if thread is None or one.thread == thread]
        return found[: None if limit is None else max(0, limit)]

    def forget(self, threads: Container[str]) -> None:
        """Drop those on any of `threads`."""
        self._kept = {id: one for id, one in self._kept.items() if one.thread not in threads}
