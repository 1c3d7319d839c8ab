"""The page about models says what is so: its settings file loads, its variables are those that are read."""

from __future__ import annotations

import re
from pathlib import Path

from runtime import settings as loading
from runtime.settings import load_settings

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")


def test_the_settings_file_of_the_page_loads(tmp_path: Path) -> None:
    [text] = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    file = tmp_path / "settings.yaml"
    file.write_text(text, encoding="utf-8")
    found = load_settings(file, environ={})
    assert list(found.models) == ["local", "router", "openai:gpt-4o"]
    assert (found.room("local"), found.room("router"), found.room("openai:gpt-4o")) == (8192, 32000, 128000)
    assert {*re.findall(r"^(\w+):", text, re.MULTILINE)} == {*loading.KEYS}


def test_every_variable_that_is_read_is_on_the_page() -> None:
    read = set(re.findall(r'"(STUDIO_\w+)"', Path(loading.__file__).read_text(encoding="utf-8")))
    assert read <= set(re.findall(r"`(STUDIO_\w+)`", PAGE))
    assert "STUDIO_CONNECT_SECONDS" in read
