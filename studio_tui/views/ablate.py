"""Leave one out as panes: every part of the context, and how often the verdict changes without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from runtime.experiments.results import Ablation, PieceKind, Run, WithoutPiece
from studio_tui.views.lines import Line, Pane, Span

BASELINE = "baseline"
"""The id of the line of the runs with nothing left out."""

_TITLES: dict[PieceKind, str] = {
    "row": "stored messages",
    "state view": "state views",
    "instructions": "paragraphs of the instructions",
    "tool result": "tool results",
}


def pieces_pane(ablation: Ablation, *, decisive_only: bool = False) -> Pane:
    """One line for the runs with everything, then one for each part. Ids: `baseline`, `piece:N`."""
    lines = tuple(_lines(ablation, decisive_only))
    badge = "only what matters, d all" if decisive_only else "d only what matters"
    return Pane("WITHOUT", badge, lines)


def _lines(ablation: Ablation, decisive_only: bool) -> Iterator[Line]:
    told: set[str] = set()
    yield Line("columns", (Span(f"  {'changes':<9} {'enough':<7} without", "muted"),), wrap=False, kind="head")
    yield Line(
        BASELINE,
        (
            Span(f"  {'–':<9} ", "muted"),
            _score(ablation.baseline, ablation.spec.repeats),
            Span("nothing: all of it   ", "title"),
            *_answers(ablation, ablation.baseline, told),
        ),
        wrap=False,
        kind="piece",
    )
    kind: PieceKind | None = None
    for at, one in enumerate(ablation.pieces):
        if decisive_only and not one.changed:
            continue
        if one.piece.kind != kind:
            kind = one.piece.kind
            yield Line(f"kind:{kind}", (Span(_TITLES[kind], "title"),), wrap=False, kind="head")
        yield _piece(ablation, at, one, told)


def _piece(ablation: Ablation, at: int, one: WithoutPiece, told: set[str]) -> Line:
    changed = bool(one.changed)
    how = "·" if not one.runs else f"{one.changed} of {len(one.runs)}"
    return Line(
        f"piece:{at}",
        (
            Span("▶ " if changed else "  ", "ok"),
            Span(f"{how:<9} ", "what-if" if changed else "muted"),
            _score(one.runs, one.planned),
            Span(f"{_name(one)}  ", "title" if changed else "text"),
            Span(f"{_short(one.piece.text)}   ", "text" if changed else "muted"),
            *_answers(ablation, one.runs, told),
        ),
        wrap=False,
        kind="piece",
        copy=one.piece.text,
        fade=not changed,
    )


def _name(one: WithoutPiece) -> str:
    piece = one.piece
    match piece.kind:
        case "row":
            return f"seq {piece.key} {'asst' if piece.name == 'assistant' else piece.name}".rstrip()
        case "instructions":
            return f"paragraph {piece.key}"
        case "state view":
            return str(piece.key)
        case "tool result":
            return f"{piece.name} ({piece.key})"


def _short(text: str, limit: int = 60) -> str:
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _score(runs: Sequence[Run], planned: int) -> Span:
    if not runs:
        return Span(f"{'·':<7} ", "muted")
    judged = any(run.passed is not None for run in runs)
    score = f"{sum(run.passed is True for run in runs)}/{len(runs)}" if judged else f"?/{len(runs)}"
    return Span(f"{score + ('' if len(runs) >= planned else ' …'):<7} ")


def _answers(ablation: Ablation, runs: Sequence[Run], told: set[str]) -> Iterator[Span]:
    words = {group.letter: group.answer for group in ablation.groups}
    for letter, count in Counter(run.group or "" for run in runs).most_common():
        times = f" ×{count}" if len(runs) > 1 else ""
        if not letter:
            ended = ", ".join(dict.fromkeys(run.reason or run.status for run in runs if run.answer is None))
            yield Span(f"–{times} {ended}   ", "error")
            continue
        yield Span(f"{letter}{times}  ", "key")
        if letter not in told:
            told.add(letter)
            yield Span(f"{words.get(letter, '')}   ")


def decisive_lines(ablation: Ablation) -> list[tuple[Span, ...]]:
    """The parts without which the verdict is another one, the most often first."""
    found = ablation.decisive
    head = Span("MATTERS  ", "title")
    if not found:
        if ablation.state == "running" or ablation.verdict is None:
            return [(head, Span("not known yet", "muted"))]
        word = "enough" if ablation.verdict else "not enough"
        return [(head, Span(f"nothing alone: with all of it the answer is {word}, and without any one part too"))]
    lines: list[tuple[Span, ...]] = []
    for at, one in enumerate(found[:4]):
        often = f"   without it the verdict changes, {one.changed} of {len(one.runs)}"
        lines.append((head if at == 0 else Span(" " * 9), Span(f"{one.piece}  ", "ok"),
                      Span(f"“{_short(one.piece.text)}”"), Span(often, "muted")))  # fmt: skip
    if len(found) > 4:
        lines.append((Span(" " * 9), Span(f"and {len(found) - 4} more", "muted")))
    return lines


def runs_of(ablation: Ablation, line: str) -> tuple[Run, ...]:
    """The runs that a line of the table stands for."""
    if line == BASELINE:
        return ablation.baseline
    at = line.removeprefix("piece:")
    return ablation.pieces[int(at)].runs if at.isdigit() and int(at) < len(ablation.pieces) else ()


def name_of(ablation: Ablation, line: str) -> str:
    """What a line's runs were run without."""
    at = line.removeprefix("piece:")
    if at.isdigit() and int(at) < len(ablation.pieces):
        return f"without {ablation.pieces[int(at)].piece}"
    return "with all of it"


def piece_pane(ablation: Ablation, line: str) -> Pane:
    """The whole text of the part under the cursor, as far as it is kept, then its answers."""
    at = line.removeprefix("piece:")
    runs = runs_of(ablation, line)
    lines: list[Line] = []
    if at.isdigit() and int(at) < len(ablation.pieces):
        piece = ablation.pieces[int(at)].piece
        lines += [
            Line("what", (Span(f"left out: {piece}", "title"),)),
            Line("text", (Span(piece.text),), indent=2, copy=piece.text),
        ]
    else:
        lines.append(Line("what", (Span("nothing left out", "title"),)))
    lines.append(Line("gap", (), kind="blank"))
    words = {group.letter: group.answer for group in ablation.groups}
    for letter, count in Counter(run.group or "" for run in runs).most_common():
        if letter:
            lines.append(Line(f"group:{letter}", (Span(f"{letter}, {count} of {len(runs)} runs", "key"),)))
            lines.append(Line(f"answer:{letter}", (Span(words.get(letter, "")),), indent=2))
        else:
            bad = next(run for run in runs if run.answer is None)
            told = f"no answer, {count} of {len(runs)} runs: {bad.reason or bad.status}"
            lines.append(Line("group:none", (Span(told, "error"),)))
    return Pane("LEFT OUT", "", tuple(lines))
