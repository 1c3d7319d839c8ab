"""Builders for ABL: a file around one route, and folders of files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.abl import AgentSource, compile_text
from runtime.abl.project import Route
from runtime.values.diagnostic import Diagnostic

Compiled = tuple[AgentSource, list[Diagnostic]]


class Bench:
    """What most tests ask: the agent, the one route, the codes."""

    def compile(self, text: str, file: str = "x.agent.abl") -> Compiled:
        agent, found = compile_text(text, file)
        assert agent is not None, [str(one) for one in found]
        return agent, found

    def route(self, *lines: str, head: str = "") -> tuple[Route, list[Diagnostic]]:
        """The route that these lines of a HANDOFF entry make; the caller declares `order_id`."""
        entry = "\n".join("    " + line for line in lines)
        agent, found = self.compile(
            f"AGENT: Caller\nGOAL: g\nMEMORY:\n  session:\n    - order_id\n{head}HANDOFF:\n  - TO: Target\n{entry}\n"
        )
        assert len(agent.routes) == 1
        return agent.routes[0], found

    def codes(self, found: list[Diagnostic]) -> list[str]:
        return [one.code for one in found]


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def folder(tmp_path: Path) -> Callable[..., Path]:
    """A project folder holding the files given by name (`_` and `__` in a keyword are no help: a mapping is)."""

    def build(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / "project" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path / "project"

    return build
