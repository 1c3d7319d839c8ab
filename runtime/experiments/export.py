"""Experiments as JSON (what `--json` prints), CSV (a line for each run) and Markdown (a table and the finding)."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

from runtime.experiments.results import Ablation, Because, Cell, Edge, Group, Run, Sweep, Variant, WithoutPiece
from runtime.explain import ranges
from runtime.explain.words import plural
from runtime.values.journal_json import usage_json
from runtime.values.json import Json
from runtime.values.usage import Usage


def sweep_json(sweep: Sweep) -> dict[str, Json]:
    """The keys of CLI.md, then where it is kept, the reason of the edge and the finding.

    A cell that was not run again (`same_as`) has the outcome of the one that was, and no runs. With several models or
    agents each cell names its own, and `edges` has the smallest window of each.
    """
    several = len(sweep.edges) > 1
    value: dict[str, Json] = {
        "request": sweep.request,
        "of": sweep.of,
        "enough": str(sweep.spec.enough),
        "cells": [_cell_json(cell, several) for cell in sweep.cells],
        "groups": [_group_json(group) for group in sweep.groups],
        "smallest_sufficient": sweep.smallest_sufficient,
        "edge_tested": sweep.edge_tested,
    }
    if several:
        value["edges"] = [_edge_json(edge) for edge in sweep.edges]
    return value | {
        "experiment": sweep.id,
        "thread": sweep.thread,
        "state": sweep.state,
        "tools": sweep.spec.changes.tools,
        "because": _because_json(sweep.because),
        "finding": sweep.finding,
    }


def sweep_csv(sweep: Sweep) -> str:
    """One line for each run, texts as they are; a window that was not run again has none."""
    head = ["agent", "model", "window", "selected", "entered", "repeat", *_RUN_HEAD]
    lines = [
        [cell.variant.agent or sweep.agent, cell.variant.model or "", cell.window, cell.selected,
         ranges(cell.entered), run.repeat, *_run_line(run)]
        for cell in sweep.cells
        if cell.same_as is None
        for run in cell.runs
    ]  # fmt: skip
    return _csv(head, lines)


def sweep_markdown(sweep: Sweep) -> str:
    """A table with a line for each cell, the answers, and the finding."""
    several = len(sweep.edges) > 1
    head = [*(["who"] if several else []), "window", "selected", "entered", "est", "runs", "enough", "answers"]
    lines = [[*([_who(cell.variant, sweep.agent)] if several else []), *_cell_line(cell)] for cell in sweep.cells]
    told = [f"# Sweep {sweep.number}: {_inline(sweep.request)}", ""]
    told += [f"- of: {_of(sweep)}, agent {_inline(sweep.agent)}"]
    told += [f"- enough when: {_inline(str(sweep.spec.enough))}", f"- tools: {sweep.spec.changes.tools}", ""]
    told += [*_table(head, lines), "", *_answers(sweep.groups)]
    if sweep.smallest_sufficient is not None:
        told.append(f"Smallest enough: **{sweep.smallest_sufficient}**")
        told.append("")
    if sweep.because is not None:
        told += [f"Because {_inline(sweep.because.sentence)}.", ""]
    return "\n".join([*told, f"Finding: {_inline(sweep.finding)}", ""])


def ablation_json(ablation: Ablation) -> dict[str, Json]:
    """What leaving each part out did."""
    return {
        "request": ablation.request,
        "of": ablation.of,
        "window": ablation.spec.window,
        "enough": str(ablation.spec.enough),
        "baseline": {
            "passes": _passes(ablation.baseline),
            "runs": [_run_json(run) for run in ablation.baseline],
            "enough": ablation.verdict,
        },
        "without": [_piece_json(one) for one in ablation.pieces],
        "decisive": [{"kind": one.piece.kind, "key": one.piece.key} for one in ablation.decisive],
        "groups": [_group_json(group) for group in ablation.groups],
        "experiment": ablation.id,
        "thread": ablation.thread,
        "state": ablation.state,
        "tools": ablation.spec.changes.tools,
        "finding": ablation.finding,
    }


def ablation_csv(ablation: Ablation) -> str:
    """One line for each run, those that leave nothing out first."""
    lines = [["nothing", "", "", run.repeat, *_run_line(run)] for run in ablation.baseline]
    lines += [
        [one.piece.kind, one.piece.key, one.piece.text, run.repeat, *_run_line(run)]
        for one in ablation.pieces
        for run in one.runs
    ]
    return _csv(["without", "key", "text", "repeat", *_RUN_HEAD], lines)


def ablation_markdown(ablation: Ablation) -> str:
    """A table with a line for each part, the answers, and the finding."""
    baseline = f"{_passes(ablation.baseline)}/{len(ablation.baseline)}"
    lines: list[list[str]] = [["nothing", "", baseline, "", _letters(ablation.baseline)]]
    lines += [
        [str(one.piece), _cut(one.piece.text), f"{one.passes}/{len(one.runs)}",
         f"{one.changed} of {len(one.runs)}" if one.changed else "", _letters(one.runs)]
        for one in ablation.pieces
    ]  # fmt: skip
    told = [f"# Leave one out {ablation.number}: {_inline(ablation.request)}", ""]
    told += [f"- of: {_of(ablation)}, agent {_inline(ablation.agent)}"]
    told += [f"- window {ablation.spec.window}, enough when: {_inline(str(ablation.spec.enough))}", ""]
    told += [*_table(["without", "says", "enough", "verdict changed", "answers"], lines), ""]
    return "\n".join([*told, *_answers(ablation.groups), f"Finding: {_inline(ablation.finding)}", ""])


def _cell_json(cell: Cell, several: bool) -> dict[str, Json]:
    main = cell.main
    value: dict[str, Json] = {
        "window": cell.window,
        "selected": cell.selected,
        "entered": list(cell.entered),
        "same_as": cell.same_as,
        "status": main.status if main is not None else None,
        "answer": main.answer if main is not None else None,
        "group": main.group if main is not None else None,
        "passes": cell.passes,
        "runs": [_run_json(run) for run in cell.runs] if cell.same_as is None else [],
        "estimate": cell.estimate,
        "usage": usage_json(cell.usage if cell.same_as is None else Usage()),
        "seconds": cell.seconds,
    }
    if several:
        value |= {"agent": cell.variant.agent, "model": cell.variant.model}
    return value


def _run_json(run: Run) -> dict[str, Json]:
    return {
        "turn": run.turn,
        "repeat": run.repeat,
        "status": run.status,
        "reason": run.reason,
        "error": run.error,
        "answer": run.answer,
        "group": run.group,
        "passed": run.passed,
        "calls": list(run.calls),
        "estimate": run.estimate,
        "usage": usage_json(run.usage),
        "seconds": run.seconds,
    }


def _group_json(group: Group) -> dict[str, Json]:
    return {"group": group.letter, "answer": group.answer, "windows": list(group.windows)}


def _edge_json(edge: Edge) -> dict[str, Json]:
    return {
        "agent": edge.variant.agent,
        "model": edge.variant.model,
        "smallest_sufficient": edge.smallest,
        "edge_tested": edge.edge_tested,
        "because": _because_json(edge.because),
    }


def _because_json(because: Because | None) -> Json:
    if because is None:
        return None
    rows: list[Json] = [
        {"seq": row.seq, "role": row.role, "text": row.text, "words": list(row.words), "needs": row.needs}
        for row in because.rows
    ]
    return {"sentence": because.sentence, "rows": rows}


def _piece_json(one: WithoutPiece) -> dict[str, Json]:
    return {
        "kind": one.piece.kind,
        "key": one.piece.key,
        "text": one.piece.text,
        "passes": one.passes,
        "changed": one.changed,
        "runs": [_run_json(run) for run in one.runs],
    }


_RUN_HEAD = (
    "status", "reason", "passed", "group", "answer", "calls", "estimate", "usage input", "usage output", "seconds",
    "turn",
)  # fmt: skip


def _run_line(run: Run) -> list[object]:
    passed = "" if run.passed is None else "yes" if run.passed else "no"
    return [
        run.status, run.reason or "", passed, run.group or "", run.answer if run.answer is not None else "",
        " ".join(run.calls), _or_blank(run.estimate), _or_blank(run.usage.input), _or_blank(run.usage.output),
        "" if run.seconds is None else f"{run.seconds:.3f}", run.turn,
    ]  # fmt: skip


def _or_blank(number: int | None) -> object:
    return "" if number is None else number


def _csv(head: Sequence[object], lines: Iterable[Sequence[object]]) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(lines)
    return file.getvalue()


def _cell_line(cell: Cell) -> list[str]:
    entered = ranges(cell.entered) or "–"
    if cell.same_as is not None:
        return [str(cell.window), str(cell.selected), f"same as {cell.same_as}, not run twice", "", "", "", ""]
    mark = " ✔" if cell.enough else ""
    return [
        str(cell.window), str(cell.selected), entered, str(cell.estimate or ""), str(len(cell.runs)),
        f"{cell.passes}/{len(cell.runs)}{mark}", _letters(cell.runs),
    ]  # fmt: skip


def _letters(runs: Sequence[Run]) -> str:
    """`A ×4, B`: the letters of the answers, the reason where there is none."""
    counted: dict[str, int] = {}
    for run in runs:
        name = run.group or (run.reason or run.status)
        counted[name] = counted.get(name, 0) + 1
    return ", ".join(name if count == 1 else f"{name} ×{count}" for name, count in counted.items())


def _answers(groups: Sequence[Group]) -> list[str]:
    told = [f"- {group.letter} ({plural(group.runs, 'run')}): {_inline(group.answer)}" for group in groups]
    return [*told, ""] if told else []


def _who(variant: Variant, agent: str) -> str:
    return str(variant) or agent


def _table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    rows = [head, ["---"] * len(head), *lines]
    return ["| " + " | ".join(_inline(cell) for cell in row) + " |" for row in rows]


_MARKS = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>|"})


def _inline(text: str) -> str:
    """Text of models and files on one line of Markdown, where it is no markup."""
    return " ".join(text.split()).translate(_MARKS)


def _cut(text: str, limit: int = 80) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _of(found: Sweep | Ablation) -> str:
    return f"{found.of_name} of thread {found.thread}" if found.of is not None else f"thread {found.thread}"


def _passes(runs: Sequence[Run]) -> int:
    return sum(run.passed is True for run in runs)
