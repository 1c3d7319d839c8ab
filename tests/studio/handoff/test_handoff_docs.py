"""The page about handoffs lists every code, in the compiler's own words."""

from __future__ import annotations

from pathlib import Path

from runtime.abl import CODES

PAGE = Path(__file__).parents[3] / "docs" / "handoffs.md"


def test_the_page_lists_every_code_there_is() -> None:
    text = PAGE.read_text(encoding="utf-8")
    listed = [line for line in text.split("\n") if line.startswith(("| E", "| W3", "| I"))]
    assert listed == [f"| {code} | {words} |" for code, words in CODES.items()]
