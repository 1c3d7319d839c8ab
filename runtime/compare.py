"""Two turns side by side: contexts row by row, transcripts by step, answers word by word (X5). Linear in the rows."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.answers import Piece as Piece
from runtime.answers import words as words
from runtime.explain.words import plural, quoted, ranges, turn_name
from runtime.values.items import AssistantStep, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, as_text
from runtime.values.record import ContextRow, SectionRecord, TurnRecord
from runtime.values.request import SectionName

Sign = Literal["=", "~", "A", "B"]
"""The same in both; the same row with other text; only in the first; only in the second."""


@dataclass(frozen=True, slots=True)
class RowPair:
    """One line of two histories laid side by side. `a` or `b` is None where the other alone has the row."""

    sign: Sign
    a: ContextRow | None
    b: ContextRow | None


@dataclass(frozen=True, slots=True)
class SectionPair:
    """A section besides the history, or `tools`: tokens in both (0 where it is left out), and whether it is equal."""

    name: SectionName | Literal["tools"]
    same: bool
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class StepPair:
    """What both did at one step, in words; None where one had no such step. `same` compares texts, calls, results."""

    step: int
    same: bool
    a: str | None
    b: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two records compared. `answer_a` and `answer_b` are None where the turn did not complete."""

    a: TurnRecord
    b: TurnRecord
    rows: tuple[RowPair, ...]
    sections: tuple[SectionPair, ...]
    steps: tuple[StepPair, ...]
    words: tuple[Piece, ...]

    @property
    def only_a(self) -> tuple[ContextRow, ...]:
        """The rows that the first alone has."""
        return tuple(pair.a for pair in self.rows if pair.sign == "A" and pair.a is not None)

    @property
    def only_b(self) -> tuple[ContextRow, ...]:
        """The rows that the second alone has."""
        return tuple(pair.b for pair in self.rows if pair.sign == "B" and pair.b is not None)

    @property
    def edited(self) -> tuple[RowPair, ...]:
        """The rows that both have with different texts."""
        return tuple(pair for pair in self.rows if pair.sign == "~")

    @property
    def same_context(self) -> bool:
        return all(pair.sign == "=" for pair in self.rows) and all(pair.same for pair in self.sections)

    @property
    def same_answer(self) -> bool:
        return self.a.status == self.b.status and self.a.answer == self.b.answer

    @property
    def finding(self) -> str:
        """The difference in one sentence with its numbers (X8)."""
        return _finding(self)


def compare(a: TurnRecord, b: TurnRecord) -> Comparison:
    """Compare two turns (X5): rows are the same with the same origin, else with the same role and text in order."""
    return Comparison(a, b, rows_of(a, b), _sections(a, b), _steps(a, b), words(a.answer or "", b.answer or ""))


def rows_of(a: TurnRecord, b: TurnRecord) -> tuple[RowPair, ...]:
    """Both histories as one list, in the order of both."""
    left, right = _rows(a), _rows(b)
    partner = _by_origin(left, right, a.thread, b.thread)
    partner = _increasing(partner)
    pairs: list[RowPair] = []
    at_a = at_b = 0
    for index_a, index_b in [*sorted(partner.items()), (len(left), len(right))]:
        pairs += _by_text(left[at_a:index_a], right[at_b:index_b])
        if index_a < len(left):
            one, other = left[index_a], right[index_b]
            same = one.role == other.role and one.text == other.text
            pairs.append(RowPair("=" if same else "~", one, other))
        at_a, at_b = index_a + 1, index_b + 1
    return tuple(pairs)


def _rows(record: TurnRecord) -> tuple[ContextRow, ...]:
    return record.context.rows if record.context is not None else ()


def _by_origin(left: Sequence[ContextRow], right: Sequence[ContextRow], thread_a: str, thread_b: str) -> dict[int, int]:
    """Which index of `left` is the same stored row as which index of `right`."""
    where: dict[object, int] = {}
    for index, row in enumerate(right):
        for key in _keys(row, thread_b):
            where.setdefault(key, index)
    found = {}
    for index, row in enumerate(left):
        other = next((where[key] for key in _keys(row, thread_a) if key in where), None)
        if other is not None and not (row.is_request and right[other].is_request and row.text != right[other].text):
            found[index] = other
    return found


def _keys(row: ContextRow, thread: str) -> tuple[object, ...]:
    """What a stored row is known by: its insertion number, the row it is a copy of, its place in its thread."""
    keys: list[object] = [row.id] if row.id else []
    if row.origin is not None:
        keys.append(row.origin)
    keys.append((thread, row.seq))
    return tuple(keys)


def _increasing(partner: Mapping[int, int]) -> dict[int, int]:
    """The pairs that keep both orders; a pair that crosses one before it is let go."""
    kept: dict[int, int] = {}
    last = -1
    for one, other in sorted(partner.items()):
        if other > last:
            kept[one] = other
            last = other
    return kept


def _by_text(left: Sequence[ContextRow], right: Sequence[ContextRow]) -> list[RowPair]:
    """Rows without a common origin: the same role and text in order are the same row."""
    waiting: defaultdict[tuple[str, str], deque[int]] = defaultdict(deque)
    for index, row in enumerate(right):
        waiting[row.role, row.text].append(index)
    pairs: list[RowPair] = []
    at = 0
    for row in left:
        queue = waiting.get((row.role, row.text))
        while queue and queue[0] < at:
            queue.popleft()
        if not queue:
            pairs.append(RowPair("A", row, None))
            continue
        index = queue.popleft()
        pairs += [RowPair("B", None, other) for other in right[at:index]]
        pairs.append(RowPair("=", row, right[index]))
        at = index + 1
    return pairs + [RowPair("B", None, other) for other in right[at:]]


def _sections(a: TurnRecord, b: TurnRecord) -> tuple[SectionPair, ...]:
    names: tuple[SectionName, ...] = ("instructions", "state", "request")
    pairs = []
    for name in names:
        one, other = _section(a, name), _section(b, name)
        if one is not None or other is not None:
            same = (one.text if one else "") == (other.text if other else "")
            pairs.append(SectionPair(name, same, one.tokens if one else 0, other.tokens if other else 0))
    tools_a, tools_b = (record.context.tools if record.context else () for record in (a, b))
    if tools_a or tools_b:
        tokens = [sum(tool.tokens for tool in tools) for tools in (tools_a, tools_b)]
        pairs.append(SectionPair("tools", tools_a == tools_b, *tokens))
    return tuple(pairs)


def _section(record: TurnRecord, name: SectionName) -> SectionRecord | None:
    return record.context.section(name) if record.context is not None else None


def _steps(a: TurnRecord, b: TurnRecord) -> tuple[StepPair, ...]:
    one, other = _by_step(a), _by_step(b)
    return tuple(
        StepPair(
            step,
            step in one and step in other and one[step].essence == other[step].essence,
            one[step].words if step in one else None,
            other[step].words if step in other else None,
        )
        for step in sorted({*one, *other})
    )


@dataclass(frozen=True, slots=True)
class _Step:
    words: str
    essence: tuple[Json, ...]


def _by_step(record: TurnRecord) -> dict[int, _Step]:
    results = {item.step: item.results for item in record.transcript if isinstance(item, ToolResults)}
    return {
        item.step: _step(item, results.get(item.step, ()))
        for item in record.transcript
        if isinstance(item, AssistantStep)
    }


def _step(item: AssistantStep, results: Iterable[ToolResult]) -> _Step:
    told = [quoted(item.text)] if item.text else []
    told += [_call(call) for call in item.calls]
    told += [f"← {result.name}{' error' if result.error else ''} {_short(result.output)}" for result in results]
    essence: tuple[Json, ...] = (
        item.text,
        [[call.name, call.arguments] for call in item.calls],
        [[result.name, result.output, result.error] for result in results],
    )
    return _Step(" · ".join(told) if told else "nothing", essence)


def _call(call: ToolCall) -> str:
    return f"→ {call.name} {_short(call.arguments)}"


def _short(value: Json) -> str:
    text = " ".join(as_text(value).split())
    return text if len(text) <= 40 else text[:39] + "…"


def _finding(comparison: Comparison) -> str:
    a, b = comparison.a, comparison.b
    told = []
    for record, rows in ((a, comparison.only_a), (b, comparison.only_b)):
        if rows:
            tokens = sum(row.tokens for row in rows)
            told.append(
                f"only {turn_name(record)} had seq {ranges(row.seq for row in rows)} "
                f"({plural(len(rows), 'message')}, {plural(tokens, 'token')})"
            )
    if comparison.edited:
        told.append(f"seq {ranges(pair.a.seq for pair in comparison.edited if pair.a)} had another text")
    told += [f"{pair.name} differ" for pair in comparison.sections if not pair.same]
    if not told:
        told.append("the same context")
    told.append(_outcome(comparison))
    return f"{_named(a)} against {_named(b)}: {'; '.join(told)}."


def _named(record: TurnRecord) -> str:
    return f"{turn_name(record)} (window {record.window})"


def _outcome(comparison: Comparison) -> str:
    a, b = comparison.a, comparison.b
    if a.status != b.status or a.reason != b.reason:
        return f"the first {_status(a)}, the second {_status(b)}"
    if a.status != "completed":
        return f"both {_status(a)}"
    return "the answers are the same" if comparison.same_answer else "the answers differ"


def _status(record: TurnRecord) -> str:
    words = {
        "cut": "ran out of budget",
        "stopped": "was stopped",
        "truncated": "was truncated",
        "running": "is running",
    }
    word = words.get(record.status, record.status)
    return f"{word} ({record.reason})" if record.reason else word


def comparison_json(comparison: Comparison) -> dict[str, Json]:
    """The comparison as JSON: what `studio-tui compare --json` prints."""
    a, b = comparison.a, comparison.b
    return {
        "a": _side(a),
        "b": _side(b),
        "context": {
            "same": comparison.same_context,
            "rows": [_pair_json(pair) for pair in comparison.rows],
            "sections": [
                {"name": pair.name, "same": pair.same, "a": pair.a, "b": pair.b} for pair in comparison.sections
            ],
        },
        "steps": [{"step": pair.step, "same": pair.same, "a": pair.a, "b": pair.b} for pair in comparison.steps],
        "answer": {
            "same": comparison.same_answer,
            "words": [{"in": _IN[piece.sign], "text": piece.text} for piece in comparison.words],
        },
        "finding": comparison.finding,
    }


_IN: Mapping[Sign, str] = {"=": "both", "~": "both", "A": "a", "B": "b"}


def _side(record: TurnRecord) -> dict[str, Json]:
    return {
        "turn": record.turn,
        "thread": record.thread,
        "window": record.window,
        "selected": record.context.selected if record.context is not None else None,
        "status": record.status,
        "reason": record.reason,
        "answer": record.answer,
    }


def _pair_json(pair: RowPair) -> dict[str, Json]:
    row = pair.a or pair.b
    assert row is not None
    return {
        "in": _IN[pair.sign],
        "same": pair.sign == "=",
        "a": pair.a.seq if pair.a else None,
        "b": pair.b.seq if pair.b else None,
        "role": row.role,
        "text": row.text,
        "tokens": row.tokens,
    }
