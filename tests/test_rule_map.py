"""The map of rules to tests is complete and says what is there."""

from __future__ import annotations

from tests import rule_map


def test_every_rule_and_case_has_a_test() -> None:
    tests = rule_map.found()
    assert [number for number in rule_map.wanted() if number not in tests] == []


def test_the_readme_is_written_from_the_tests() -> None:
    current = rule_map.README.read_text(encoding="utf-8") == rule_map.written()
    assert current, "run python -m tests.rule_map"
