"""The panes of experiments as plain values: no screen, no store."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.compare import compare
from runtime.experiments.enough import SAME_AS_ALL, Enough, Predicate
from runtime.experiments.results import (
    Announcement,
    Because,
    BecauseRow,
    Cell,
    Edge,
    Group,
    Run,
    Sweep,
    SweepSpec,
    Variant,
)
from runtime.explain import InContext, LeftOutRows, NeverStored
from runtime.fold import fold
from runtime.stores import Experiment, Thread
from runtime.values.messages import Message, Role, Window
from runtime.values.record import (
    ContextItem,
    ContextRecord,
    ContextRow,
    JournalItem,
    SectionRecord,
    Settlement,
    Since,
    Status,
    Turn,
    TurnRecord,
)
from runtime.values.usage import Usage
from studio_tui.file_places import place_of
from studio_tui.views.besides import Besides, with_besides
from studio_tui.views.ledger import ledger_pane
from studio_tui.views.lines import Line, Lines, Pane, Span, where
from studio_tui.views.patches import Patches, with_patches
from studio_tui.views.sweep import CellId, cell_of, edge_lines, tools_line, windows_pane
from studio_tui.views.sweep_pair import Pair, pair_answers_pane, pair_contexts_pane
from studio_tui.views.tree import Family, tree_pane

NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)


def run(turn: str, answer: str | None, letter: str | None, *, passed: bool | None = False, repeat: int = 1) -> Run:
    status: Status = "completed" if answer is not None else "failed"
    return Run(
        turn, repeat, status, None if answer else "model-error", None, answer, (), 1, 100, Usage(), 0.1, letter, passed
    )


def cell(
    window: Window, *runs: Run, entered: tuple[int, ...] = (), enough: bool | None = False, **more: object
) -> Cell:
    selected = window if isinstance(window, int) else 99
    made = Cell(Variant(), window, None, selected, entered, len(runs), tuple(runs), enough=enough)
    return replace(made, **more)  # type: ignore[arg-type]  # fields by name


def sweep(*cells: Cell, edge: Edge | None = None, enough: Enough | None = None) -> Sweep:
    answers = {run.group: run.answer for one in cells for run in one.runs if run.group}
    groups = tuple(
        Group(letter, answer or "", tuple(one.window for one in cells if any(r.group == letter for r in one.runs)), 1)
        for letter, answer in answers.items()
    )
    spec = SweepSpec(enough=enough or Enough((Predicate("contains", "5th"),)))
    return Sweep(
        "e1", 12, "done", "7f3a", "t3", "turn 3", "When is it due?", "notes", 6, 14, spec, cells, groups,
        (edge,) if edge else (), "found", 2, 2, 0, NOW,
    )  # fmt: skip


def text(lines: object) -> str:
    return "\n".join(line.text for line in lines)  # type: ignore[attr-defined]  # lines of a pane


BECAUSE = Because("only seq 1 says it", (BecauseRow(1, "user", "On the [/x] 5th.", ("5th",), 14),))
TWO = sweep(
    cell(2, run("a", "No idea.", "A"), entered=(13, 14)),
    cell(14, run("b", "The 5th.", "B", passed=True), entered=tuple(range(1, 13)), enough=True),
    cell("all", run("b", "The 5th.", "B", passed=True), enough=True, same_as=14, planned=0),
    edge=Edge(
        Variant(), 14, 2, None, False, BECAUSE
    ),
)  # fmt: skip


def test_the_table_has_a_line_for_each_window_and_marks_the_smallest_that_is_enough() -> None:
    lines = windows_pane(TWO).lines
    assert [line.id for line in lines if line.kind == "cell"] == ["cell:0:2", "cell:0:14", "cell:0:all"]
    marked = next(line for line in lines if "▶" in line.text)
    assert marked.id == "cell:0:14"
    assert "1-12" in marked.text
    assert "1/1 ✔" in marked.text
    assert "same rows as 14, not run twice" in text(lines)


def test_an_answer_stands_where_its_letter_comes_first() -> None:
    twice = sweep(cell(2, run("a", "No idea.", "A")), cell(6, run("b", "No idea.", "A")))
    assert text(windows_pane(twice).lines).count("No idea.") == 1


def test_several_answers_of_a_window_are_counted() -> None:
    runs = (run("a", "No.", "A"), run("b", "Yes.", "B", passed=True, repeat=2), run("c", "No.", "A", repeat=3))
    line = windows_pane(sweep(cell(2, *runs))).lines[1]
    assert "A ×2" in line.text
    assert "B ×1" in line.text
    assert "1/3 ✘" in line.text


def test_runs_without_an_answer_say_how_they_ended() -> None:
    line = windows_pane(sweep(cell(2, run("a", None, None)))).lines[1]
    assert "model-error" in line.text


def test_only_where_it_differs() -> None:
    alike = sweep(
        cell(0, run("a", "No.", "A")), cell(2, run("b", "No.", "A")), cell(6, run("c", "Yes.", "B"), enough=True)
    )
    pane = windows_pane(alike, differing=True)
    assert [line.id for line in pane.lines if line.kind == "cell"] == ["cell:0:0", "cell:0:6"]
    assert pane.badge == "1 alike left out, d all"


@given(st.integers(0, 50), st.one_of(st.integers(0, 10**20), st.just("all")))
def test_the_id_of_a_line_reads_back(variant: int, window: Window) -> None:
    id = CellId(variant, window)
    assert CellId.read(str(id)) == id


@pytest.mark.parametrize("line", ["", "columns", "cell:x:2", "variant:0", "plan:0:2"])
def test_other_lines_are_no_cells(line: str) -> None:
    assert CellId.read(line) is None


def test_a_cell_that_is_no_longer_there_is_none() -> None:
    assert cell_of(TWO, CellId(3, 2)) is None
    assert cell_of(TWO, CellId(0, 5)) is None
    assert cell_of(TWO, CellId(0, 14)) is TWO.cells[1]


def test_the_message_stands_before_its_reason_and_untested_windows_are_said() -> None:
    told = text(edge_lines(TWO))
    assert told.index("THE MESSAGE") < told.index("BECAUSE")
    assert "seq 1, user: “On the [/x] 5th.”" in told
    assert "windows between were not tried: b finds the edge" in told


def test_words_that_vary_are_no_measure() -> None:
    letters = [cell(n, run(str(n), f"answer {n}", "ABCDE"[n]), enough=n == 4) for n in range(5)]
    assert "the answers vary" in text(edge_lines(sweep(*letters, enough=Enough((SAME_AS_ALL,)))))
    assert "the answers vary" not in text(edge_lines(sweep(*letters)))
    steady = [cell(0, run("a", "No.", "A")), cell(6, run("b", "Yes.", "B"), enough=True)]
    assert "the answers vary" not in text(edge_lines(sweep(*steady, enough=Enough((SAME_AS_ALL,)))))


def test_X4_what_is_sent_where_is_said_in_full_before_it_happens() -> None:
    announced = Announcement(5, ("openai:small",), ("openai:small",), (), (), "5 runs ...; sent to openai:small.")
    before = "".join(span.text for span in tools_line(announced, "recorded", "turn 3", done=False))
    after = "".join(span.text for span in tools_line(announced, "recorded", "turn 3", done=True))
    assert announced.sentence in before
    assert "sent to openai:small" in after
    assert "recorded (calls are answered as in turn 3)" in after


def record(turn: str, seqs: range, answer: str) -> TurnRecord:
    stored = seqs.stop - 1
    rows = tuple(ContextRow(seq, "user", f"message {seq}", 5, seqs.stop - seq) for seq in seqs)
    section = SectionRecord("history", "", 5 * len(rows), rows)
    context = ContextRecord((section,), stored, len(rows), (), Since())
    opened = Turn(turn, "7f3a", "envelope", "notes", len(rows), "due?", NOW, {})
    items = [
        JournalItem(1, 0, "context", ContextItem(context, 8192, 1024)),
        JournalItem(2, 0, "settlement", Settlement("completed", answer=answer)),
    ]
    return fold(replace(opened, status="completed"), items)


def pair(low: int, high: int) -> Pair:
    stop = 2001
    comparison = compare(
        record("a", range(stop - low, stop), "No idea."), record("b", range(stop - high, stop), "The 5th.")
    )
    one, other = cell(low, run("a", "No idea.", "A")), cell(high, run("b", "The 5th.", "B", passed=True), enough=True)
    return Pair(one, other, comparison, {stop - high: ("5th",)})


def test_what_only_one_had_is_shown_and_the_deciding_row_is_marked() -> None:
    pane = pair_contexts_pane(pair(6, 14))
    assert pane.title == "CONTEXT  6 against 14"
    first = pane.lines[0]
    assert (first.seq, first.text[0]) == (1987, "+")
    assert "only in 14 ◀" in "".join(span.text for span in first.right)
    assert "says “5th”" in pane.lines[1].text
    folded = [line for line in pane.lines if line.kind == "rows"]
    assert [line.text.split("▸ ")[1] for line in folded] == ["7 rows", "6 rows"]


def test_folded_rows_unfold() -> None:
    shown = pair(6, 14)
    id = next(line.id for line in pair_contexts_pane(shown).lines if line.kind == "rows")
    opened = pair_contexts_pane(shown, frozenset({id})).lines
    assert [line.seq for line in opened if line.kind == "row"][:8] == list(range(1987, 1995))


def test_two_contexts_of_2000_rows_are_laid_side_by_side_at_once() -> None:
    """The promise is 0.2 s for the comparison; the panes stay far below it too."""
    began = time.perf_counter()
    shown = pair(1000, 2000)
    pair_contexts_pane(shown)
    pair_answers_pane(TWO, shown)
    assert time.perf_counter() - began < 2.0


def test_a_line_of_a_million_rows_costs_nothing() -> None:
    wide = sweep(cell("all", run("a", "No.", "A"), entered=tuple(range(1, 1_000_001))))
    began = time.perf_counter()
    for _ in range(100):
        windows_pane(wide)
    assert time.perf_counter() - began < 2.0


def lines_of(*groups: tuple[str, ...]) -> Lines:
    made = [tuple(Line(id, (Span(id),)) for id in group) for group in groups]
    homes = {id: n for n, group in enumerate(groups) for id in group}
    return Lines([len(group) for group in made], lambda n: made[n], homes.get)


def test_lines_with_more_keep_their_order_and_are_found() -> None:
    lines = lines_of(("a", "b"), ("c",), ()).with_more({0: [Line("x", ())], 2: [Line("y", ()), Line("z", ())]})
    assert [line.id for line in lines] == ["a", "b", "x", "c", "y", "z"]
    assert [where(lines, id) for id in ("a", "x", "c", "z", "none")] == [0, 2, 3, 5, None]


def test_changed_lines_are_changed_when_looked_at() -> None:
    seen: list[str] = []

    def change(line: Line) -> Line:
        seen.append(line.id)
        return replace(line, indent=3)

    lines = lines_of(("a",), ("b",)).changed(change)
    assert lines[1].indent == 3
    assert seen == ["b"]
    assert where(lines, "b") == 1


def thread(id: str, *, parent: str | None = None, at: int | None = None, name: str = "") -> Thread:
    return Thread(id, "notes", "fork" if parent else "seed", name, None, None, {}, NOW, 4, parent, at)


def test_S9_a_tree_nested_deep_is_drawn() -> None:
    threads = [thread("t0"), *(thread(f"t{n}", parent=f"t{n - 1}", at=n) for n in range(1, 300))]
    family = Family(threads[0], {one.parent: [one] for one in threads[1:] if one.parent})
    lines = tree_pane(family, "t7").lines
    assert len(lines) == 300
    assert lines[7].text.lstrip().startswith("└ at 7")
    assert "◀ this one" in lines[7].text


def test_experiments_fold_under_their_turn_and_the_base_is_named() -> None:
    spec = {"spec": {"enough": {"predicates": [["contains", "5th [/x]"]]}}}
    of = [Experiment("sweep", "7f3a", "a", spec, "done", f"e{n}", n, NOW) for n in (3, 2, 1)]
    pane = Pane("TURNS", "", lines_of(("turn:a", "turn:a:told"), ("turn:b",), ("next",)))
    folded = with_besides(pane, Besides(tuple(of), thread("base", name="first"), 9), frozenset())
    assert [line.id for line in folded.lines][:4] == ["turn:a", "turn:a:told", "experiments:a", "turn:b"]
    opened = with_besides(pane, Besides(tuple(of)), frozenset({"experiments:a"}))
    assert [line.id for line in opened.lines][3:6] == ["experiment:e1", "experiment:e2", "experiment:e3"]
    assert "contains: 5th [/x]" in text(opened.lines)
    assert "at 9" in text(folded.lines)


@pytest.mark.parametrize("spec", [{}, {"spec": 3}, {"spec": {"enough": []}}, {"spec": {"enough": {"predicates": [1]}}}])
def test_a_damaged_spec_is_shown_without_words(spec: dict[str, object]) -> None:
    damaged = Experiment("sweep", "7f3a", "a", spec, "stopped", "e1", 1, NOW)  # type: ignore[arg-type]  # damaged
    pane = Pane("TURNS", "", lines_of(("turn:a",), ("next",)))
    assert "sweep 1 stopped" in text(with_besides(pane, Besides((damaged,)), frozenset()).lines)


def test_X7_marks_of_dropped_and_edited_rows() -> None:
    patches = Patches("t").dropping(2).editing(3, "other")
    pane = Pane("CONTEXT", "", Lines([3], lambda n: [Line(f"row:{s}", (), seq=s, kind="row") for s in (1, 2, 3)]))
    rights = ["".join(span.text for span in line.right) for line in with_patches(pane, patches).lines]
    assert rights == ["", "✂ dropped  ", "✎ edited  "]
    assert patches.words == "without seq 2 and with another text of seq 3"
    assert not patches.dropping(2).editing(3, None)
    assert patches.dropping(3).edit == {}


def test_X1_the_ledger_is_told_row_by_row() -> None:
    def row(seq: int, role: Role = "user") -> Message:
        return Message(seq, role, f"text {seq}", None, None, NOW)

    accounts = (
        LeftOutRows(1, 300, "older-than-window", 302, 3),
        InContext(301, 1, "assistant", "text 301", 5, 2, repeats=("seq 9",)),
        NeverStored("t", "turn 2", "result", "42", "transcript-only", 1, "find-notes"),
    )
    lines = ledger_pane(accounts, {n: row(n) for n in range(1, 301)}, "").lines
    assert len(lines) == 604
    assert lines[598].id == "row:300"
    assert "a window of 3 or more would include it" in lines[599].text
    assert "says the same as seq 9" in lines[601].text
    assert "never a message: turn 2, transcript-only" in lines[603].text
    assert "text 5" in lines[8].text


def test_where_a_line_of_the_screen_stands_in_its_file(tmp_path: Path) -> None:
    from runtime.agents import load_agent
    from runtime.seeds import load_seed

    (tmp_path / "mine.yaml").write_text(
        "seed: mine\nagent:\n  agent: clerk\n  instructions: Hi.\nmessages:\n  - user: one\n  - assistant: two\n"
    )
    seed = load_seed(tmp_path / "mine.yaml")
    agent = seed.agents["clerk"]
    places = [place_of(line, seed, agent) for line in ("row:2", "row:9", "", "section:request")]
    assert [place.line for place in places if place is not None] == [7, 1, 1, 1]
    instructions = place_of("section:instructions:text", seed, agent)
    assert instructions is not None
    assert (instructions.kind, instructions.path.name, instructions.line) == ("agent", "mine.yaml", 4)
    assert place_of("row:1", None, None) is None
    (tmp_path / "clerk.yaml").write_text("agent: clerk\ntools: [find-notes]\n")
    alone = load_agent(tmp_path / "clerk.yaml")
    tools = place_of("tool:find-notes", None, alone)
    assert tools is not None
    assert (tools.line, tools.shipped) == (2, False)
    (tmp_path / "clerk.yaml").write_text("agent: [\n")
    broken = place_of("section:tools", None, alone)
    assert broken is not None
    assert broken.line >= 1
