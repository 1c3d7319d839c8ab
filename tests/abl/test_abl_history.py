"""HISTORY: every row of H6 in the three places it can be written, and what is in force in the end (H4, H5)."""

from __future__ import annotations

from typing import Protocol

import pytest

from runtime.abl import default_setting, resolve
from runtime.abl.history_setting import HistorySetting, LastN, Read, read_line
from runtime.abl.project import Route
from runtime.values.diagnostic import Diagnostic


class Bench(Protocol):
    def route(self, *lines: str, head: str = ...) -> tuple[Route, list[Diagnostic]]: ...
    def codes(self, found: list[Diagnostic]) -> list[str]: ...


GIVEN = ("PASS: [order_id]", 'SUMMARY: "why"')

ONE_LINE: list[tuple[str, Read, list[str]]] = [
    ("full", "full", ["I333"]),
    ("FULL", "full", ["I333"]),
    ('"full"', "full", ["I333"]),
    ("none", "none", []),
    ('"none"', "none", []),
    ("'NONE'", "none", []),
    ("summary_only", "summary_only", []),
    ("Summary_Only", "summary_only", []),
    ("auto", "auto", []),
    ("last_5", LastN(5), []),
    ("LAST_5", LastN(5), []),
    ('"last_5"', LastN(5), []),
    ("last_007", LastN(7), []),
    ("last_" + "9" * 5000, LastN(10**18), []),
    ("last_0", LastN(0), ["I332"]),
    ("last_n", None, ["W330"]),
    ("recent", None, ["W330"]),
    ("off", None, ["W330"]),
    ("last_5 # note", None, ["W330"]),
    ("none # note", None, ["W330"]),
    ("last_-1", None, ["W330"]),
    ("last_2.5", None, ["W330"]),
    ("last_٣", None, ["W330"]),
    ("last 5", None, ["W330"]),
    ('"full', None, ["W330"]),
    ("{mode: last_n, count: 6}", None, ["W330"]),
    ("", None, ["W330"]),
]

BLOCKS: list[tuple[list[str], Read, list[str]]] = [
    (["mode: last_n", "count: 1"], LastN(1), []),
    (["mode: last_n", "count: 6"], LastN(6), []),
    (["count: 6", "mode: LAST_N"], LastN(6), []),
    (['mode: "last_n"', 'count: "6"'], LastN(6), []),
    (["mode: last_n", "count: 0"], None, ["W331"]),
    (["mode: last_n", "count: -3"], None, ["W331"]),
    (["mode: last_n", "count: 2.5"], None, ["W331"]),
    (["mode: last_n", "count: six"], None, ["W331"]),
    (["mode: last_n", "count: 6 # six"], None, ["W331"]),
    (["mode: last_n"], None, ["E331"]),
    (["mode: last_n", "count:"], None, ["E331"]),
    (["mode: full"], "full", ["I333"]),
    (["mode: full", "count: 3"], "full", ["I333"]),
    (["mode: none", "count: 0"], "none", []),
    (["mode: summary_only"], "summary_only", []),
    (["mode: auto", "count: x"], "auto", []),
    (["mode: recent"], None, ["E330"]),
    (["mode: last_5"], None, ["E330"]),
    (["mode:"], None, ["E330"]),
    (["count: 5"], None, ["E330"]),
    (["full"], None, ["E330"]),
]


@pytest.mark.parametrize(("written", "read", "codes"), ONE_LINE)
@pytest.mark.parametrize("key", ["HISTORY", "history", "History"])
def test_H6_one_line_at_the_entry(bench: Bench, key: str, written: str, read: Read, codes: list[str]) -> None:
    route, found = bench.route(f"{key}: {written}", *GIVEN)
    assert route.history is not None
    assert (route.history.read, bench.codes(found)) == (read, codes)
    assert (route.history.written, route.history.line) == (written, 8)


@pytest.mark.parametrize(("written", "read", "codes"), ONE_LINE)
def test_H6_one_line_inside_context(bench: Bench, written: str, read: Read, codes: list[str]) -> None:
    route, found = bench.route("CONTEXT:", "  pass: [order_id]", "  summary: why", f"  history: {written}")
    assert route.history is not None
    assert (route.history.read, bench.codes(found)) == (read, codes)


@pytest.mark.parametrize(("block", "read", "codes"), BLOCKS)
def test_H6_block_at_the_entry(bench: Bench, block: list[str], read: Read, codes: list[str]) -> None:
    route, found = bench.route("HISTORY:", *("  " + line for line in block), *GIVEN)
    assert route.history is not None
    assert (route.history.read, bench.codes(found)) == (read, codes)
    assert (route.history.form, route.history.line) == ("block", 8)


@pytest.mark.parametrize(("block", "read", "codes"), BLOCKS)
def test_H6_block_inside_context(bench: Bench, block: list[str], read: Read, codes: list[str]) -> None:
    lines = ["CONTEXT:", "  pass: [order_id]", "  summary: why", "  history:", *("    " + line for line in block)]
    route, found = bench.route(*lines)
    assert route.history is not None
    assert (route.history.read, bench.codes(found)) == (read, codes)


@pytest.mark.parametrize(
    "lines",
    [
        ["HISTORY: summary_only"],
        ["HISTORY: summary_only", 'SUMMARY: "  "'],
        ["HISTORY:", "  mode: summary_only"],
        ["CONTEXT:", "  history: summary_only"],
        ["CONTEXT:", "  history:", "    mode: summary_only"],
    ],
)
def test_H6_summary_only_without_a_summary_is_W332(bench: Bench, lines: list[str]) -> None:
    route, found = bench.route(*lines)
    assert bench.codes(found) == ["W332"]
    assert route.history is not None
    assert route.history.read == "summary_only"


def test_H6_context_reads_lower_case_only(bench: Bench) -> None:
    route, found = bench.route("CONTEXT:", "  PASS: [order_id]", "  HISTORY: none", "  Summary: why")
    assert route.history is None
    assert (route.passes, route.summary) == ((), "")
    assert bench.codes(found) == ["I330", "W333", "W333", "W333"]


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        (["HISTORY: none", "CONTEXT:", "  history: full"], "full"),
        (["CONTEXT:", "  history: full", "HISTORY: none"], "none"),
        (["HISTORY: full", "HISTORY: auto"], "auto"),
        (["HISTORY: none", "HISTORY:", "  mode: last_n", "  count: 2"], LastN(2)),
        (["HISTORY: none", "  mode: last_n", "  count: 2"], LastN(2)),
        (["HISTORY:", "  mode: full", "  mode: none"], "none"),
    ],
)
def test_H6_of_two_forms_the_last_is_read(bench: Bench, lines: list[str], read: Read) -> None:
    route, found = bench.route(*lines, *GIVEN)
    assert route.history is not None
    assert route.history.read == read
    assert "W333" in bench.codes(found)


def test_H6_a_route_that_lost_its_first_form_judges_the_last_alone(bench: Bench) -> None:
    _, found = bench.route("HISTORY: recent", "HISTORY: none", *GIVEN)
    assert bench.codes(found) == ["W333"]


def test_H5_left_out_is_I330_and_not_a_setting(bench: Bench) -> None:
    route, found = bench.route(*GIVEN)
    assert route.history is None
    assert bench.codes(found) == ["I330"]


@pytest.mark.parametrize("written", ["none", "last_3", "last_0"])
def test_I331_few_messages_and_neither_pass_nor_summary(bench: Bench, written: str) -> None:
    _, found = bench.route(f"HISTORY: {written}", "SET: a = 1")
    assert "I331" in bench.codes(found)
    for given in GIVEN:
        _, found = bench.route(f"HISTORY: {written}", given)
        assert "I331" not in bench.codes(found)


def test_H6_messages_say_what_to_write_instead(bench: Bench) -> None:
    _, found = bench.route("HISTORY:", "  mode: last_n", "  count: 0", *GIVEN)
    (only,) = found
    assert (only.line, only.column, only.severity) == (10, 14, "warning")
    assert "write HISTORY: none" in only.message


CASE_13 = [
    ("HISTORY: last_0", None, 0, []),
    ("HISTORY:\n      mode: last_n\n      count: 0", None, "all", ["W331"]),
    ("HISTORY:\n      mode: last_n", None, "all", ["E331"]),
    ("HISTORY: last_n", None, "all", ["W330"]),
    ("HISTORY:\n      mode: recent", None, "all", ["E330"]),
    ("HISTORY: recent", None, "all", ["W330"]),
    ("HISTORY: off", None, "all", ["W330"]),
    ('HISTORY: "NONE"', None, 0, []),
    ("HISTORY: FULL", None, "all", []),
    ("PRIORITY: 1", None, "all", []),
]


@pytest.mark.parametrize(("line", "default", "requested", "codes"), CASE_13)
def test_C13_what_a_route_asks_for(
    bench: Bench, line: str, default: HistorySetting | None, requested: int | str, codes: list[str]
) -> None:
    route, found = bench.route(line, *GIVEN)
    assert route.in_force(default).requested == requested
    assert [one.code for one in found if one.severity != "info"] == codes


@pytest.mark.parametrize(
    ("read", "default", "summary", "name", "source"),
    [
        ("full", "none", False, "full", "route"),
        ("none", "full", False, "none", "route"),
        (LastN(6), "full", True, "last_6", "route"),
        (LastN(0), None, False, "last_0", "route"),
        ("auto", None, True, "summary_only", "route"),
        ("auto", None, False, "last_5", "route"),
        (None, "none", False, "none", "project"),
        (None, "auto", True, "summary_only", "project"),
        (None, "auto", False, "last_5", "project"),
        (None, "'LAST_2'", False, "last_2", "project"),
        (None, "recent", False, "full", "platform"),
        (None, None, False, "full", "platform"),
    ],
)
def test_H5_route_then_project_then_platform(
    read: Read, default: str | None, summary: bool, name: str, source: str
) -> None:
    setting = HistorySetting("", "f", 1, read)
    project = None if default is None else default_setting(default)
    force = resolve(setting, project, summary)
    assert (force.name, force.source) == (name, source)


def test_H5_a_route_without_a_setting_takes_the_default() -> None:
    assert resolve(None, default_setting("last_2"), False).name == "last_2"


@pytest.mark.parametrize(
    ("written", "returns"), [("full", True), ("last_2", True), ("last_0", False), ("none", False), ("auto", True)]
)
def test_H8_which_strategies_bring_rows_back(written: str, returns: bool) -> None:
    assert resolve(HistorySetting(written, "", 1, read_line(written)), None, False).rows_return is returns
