"""Which command opens a line, and what is said when it cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from runtime.errors import BadInput
from studio_tui.editing import command

FILE = Path("/x/hub.agent.abl")


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, ["vi", "+38", "/x/hub.agent.abl"]),
        ({"EDITOR": "nano"}, ["nano", "+38", "/x/hub.agent.abl"]),
        ({"EDITOR": "nano", "VISUAL": "emacs -nw"}, ["emacs", "-nw", "+38", "/x/hub.agent.abl"]),
        ({"EDITOR": "code"}, ["code", "--wait", "--goto", "/x/hub.agent.abl:38"]),
        ({"EDITOR": "/opt/bin/hx"}, ["/opt/bin/hx", "/x/hub.agent.abl:38"]),
    ],
)
def test_the_editor_is_opened_at_the_line(environment: dict[str, str], words: list[str]) -> None:
    assert command(FILE, 38, environment) == words


def test_Q1_an_editor_that_cannot_be_read_is_named() -> None:
    with pytest.raises(BadInput, match="EDITOR"):
        command(FILE, 1, {"EDITOR": "vi 'open"})
