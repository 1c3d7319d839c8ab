"""Why the edge is where it is: which row entered there, and what of the answer it says. By text; no model is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from runtime.experiments.enough import Enough
from runtime.experiments.reach import Reach
from runtime.experiments.results import Because, BecauseRow, Cell, Edge
from runtime.explain import ledger, overflow_words, quoted, ranges, why
from runtime.models.words import RUN, word, words
from runtime.subject import Subject
from runtime.values.items import ToolResults
from runtime.values.json import Json, as_text
from runtime.values.messages import Message, Row
from runtime.values.record import TurnRecord

if TYPE_CHECKING:
    from runtime.threads import Runtime

_MOST_ROWS = 5000
"""Rows beyond which those that had entered before are not read to say that one row is the only one."""

_EARLIER = 20
"""How many turns of the thread, the newest, are searched for what was never a row."""

_BY_TEXT = "(by text, no model asked)"


@dataclass(frozen=True, slots=True)
class Sought:
    """What is looked for: `phrases` as they stand in a predicate, `words` of the answer that only it has, folded."""

    phrases: tuple[str, ...]
    words: frozenset[str]

    def found_in(self, text: str) -> tuple[str, ...]:
        """Which phrases `text` says, else which of the words, spelled and ordered as there."""
        folded = text.casefold()
        phrases = tuple(phrase for phrase in self.phrases if phrase.casefold() in folded)
        return phrases or tuple(dict.fromkeys(run for run in RUN.findall(text) if word(run) in self.words))


async def because(
    runtime: Runtime, subject: Subject, enough: Enough, reach: Reach, edge: Edge, cells: Sequence[Cell]
) -> Because | None:
    """The reason of an edge, or why no window is enough; None while nothing was run. `cells` are the variant's."""
    if edge.smallest is None:
        return await _why_none(runtime, subject, enough, cells)
    passing = next(cell for cell in cells if cell.window == edge.smallest)
    failing = next((cell for cell in cells if cell.window == edge.below), None)
    if passing.main is None:
        return None
    sought = _sought(enough, passing, failing, subject.request)
    record = await runtime.record(passing.main.turn, bodies=False)
    if failing is None:
        return _without_failing(edge, sought, record)
    entered = reach.entered(passing.window, failing.window)
    rows = await _rows(runtime, subject, passing, entered)
    hits = _hits(rows, sought, reach)
    if not hits:
        return Because(_no_row(entered, sought, record))
    only = await _is_only(runtime, subject, reach, passing, hits, sought)
    return Because(_sentence(hits, only, reach, edge, entered), tuple(hits))


def _sought(enough: Enough, passing: Cell, failing: Cell | None, request: str) -> Sought:
    assert passing.main is not None
    answer = next((run.answer for run in passing.runs if run.passed and run.answer), passing.main.answer) or ""
    other = failing.main.answer if failing is not None and failing.main is not None else None
    phrases = tuple(phrase for predicate in enough.predicates for phrase in _phrases(predicate.word, predicate.value))
    matched = tuple(
        found[0].strip()
        for predicate in enough.predicates
        if predicate.word == "matches" and (found := re.search(predicate.value, answer)) and found[0].strip()
    )
    asked = words(request)
    distinct = words(answer) - asked - words(other or "")
    return Sought(phrases + matched, distinct or words(answer) - asked)


def _phrases(word: str, value: str) -> Iterator[str]:
    if word == "contains":
        yield value
    elif word == "json":
        yield from (text for text in _leaves(json.loads(value)) if text.strip())


def _leaves(value: Json) -> Iterator[str]:
    if isinstance(value, Mapping):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


async def _rows(runtime: Runtime, subject: Subject, cell: Cell, seqs: Sequence[int]) -> list[Message]:
    """The rows of `seqs` as the run saw them; the request's is not among them."""
    stored = [seq for seq in seqs if seq <= subject.upto]
    if not stored:
        return []
    rows = await runtime.store.rows(subject.thread.id, stored[0], stored[-1])
    wanted, edit = set(stored), {}
    if cell.main is not None:
        turn = await runtime.store.turn(cell.main.turn)
        edit = dict(turn.view.edit or {}) if turn.view is not None else {}
    return [
        replace(row, text=edit.get(row.seq, row.text)) for row in rows if isinstance(row, Message) and row.seq in wanted
    ]


def _hits(rows: Sequence[Message], sought: Sought, reach: Reach) -> list[BecauseRow]:
    """The rows that say something of what is sought, those that say a whole phrase alone if any does."""
    found = []
    for row in rows:
        said = sought.found_in(row.text)
        if said:
            needs = reach.stored - row.seq + 1 - sum(1 for seq in reach.unreadable if seq > row.seq)
            found.append(BecauseRow(row.seq, row.role, row.text, said, needs))
    phrases = set(sought.phrases)
    whole = [row for row in found if phrases & set(row.words)]
    return whole or sorted(found, key=lambda row: (-len(row.words), -row.seq))


async def _is_only(
    runtime: Runtime, subject: Subject, reach: Reach, passing: Cell, hits: Sequence[BecauseRow], sought: Sought
) -> bool:
    """Whether no other row that the passing window selects says it."""
    oldest = reach.oldest(passing.window)
    if len(hits) > 1 or subject.upto - oldest >= _MOST_ROWS:
        return False
    others = await _rows(runtime, subject, passing, reach.entered(passing.window, None))
    said = {one.casefold() for one in hits[0].words}
    found = ({one.casefold() for one in sought.found_in(row.text)} for row in others if row.seq != hits[0].seq)
    return not any(said & other for other in found)


def _sentence(hits: Sequence[BecauseRow], only: bool, reach: Reach, edge: Edge, entered: Sequence[int]) -> str:
    row = hits[0]
    said = _said(row.words)
    if len(hits) > 1:
        others = ranges(sorted(one.seq for one in hits[1:]))
        told = f"of the rows that entered (seq {ranges(entered)}), seq {row.seq} says {said}; so does seq {others}"
        if set(hits[1].words) != set(row.words):
            told = f"of the rows that entered (seq {ranges(entered)}), seq {row.seq} says most of it: {said}"
    elif only:
        told = f"only seq {row.seq} says {said}"
    else:
        told = f"of the rows that entered (seq {ranges(entered)}), only seq {row.seq} says {said}"
    needs = f"seq {row.seq} needs a window of {row.needs} or more"
    if edge.smallest != "all" and row.needs < reach.counted(edge.smallest or 0) and not edge.edge_tested:
        needs += f", which was not tried: {edge.smallest} is the next larger that was"
    return f"{told}, and {needs} {_BY_TEXT}"


def _no_row(entered: Sequence[int], sought: Sought, record: TurnRecord) -> str:
    rows = f"no row that entered (seq {ranges(entered)}) says {_said(_some(sought))}"
    elsewhere = _elsewhere(record, sought)
    if elsewhere:
        return f"{rows}; {elsewhere} {_BY_TEXT}"
    return f"{rows}: leave out one row at a time to find the one that matters {_BY_TEXT}"


def _without_failing(edge: Edge, sought: Sought, record: TurnRecord) -> Because:
    elsewhere = _elsewhere(record, sought)
    if edge.smallest == 0:
        told = "no stored message is needed: the request alone is enough"
    else:
        told = f"no smaller window than {edge.smallest} was tried"
    return Because(f"{told}; {elsewhere} {_BY_TEXT}" if elsewhere else told)


def _elsewhere(record: TurnRecord, sought: Sought) -> str:
    """Where besides the stored rows the run was given what is sought."""
    texts = list(_other_texts(record))
    for one in (replace(sought, words=frozenset()), replace(sought, phrases=())):
        for name, text in texts:
            said = one.found_in(text)
            if said:
                return f"{_said(said)} stands in {name}"
    return ""


def _other_texts(record: TurnRecord) -> Iterator[tuple[str, str]]:
    names = {"state": "the state views", "instructions": "the instructions"}
    context = record.context
    for item in record.transcript:
        if isinstance(item, ToolResults):
            for result in item.results:
                yield f"a result of {result.name} in step {item.step} of the run", as_text(result.output)
    for section in context.sections if context is not None else ():
        if section.name in names:
            yield names[section.name], section.text


async def _why_none(runtime: Runtime, subject: Subject, enough: Enough, cells: Sequence[Cell]) -> Because | None:
    """Why not even `all` is enough: it did not fit, the text is in no row, or the model saw it and did not say it."""
    largest = cells[-1].main
    if largest is None:
        return None
    record = await runtime.record(largest.turn, bodies=False)
    blame = overflow_words(record)
    if blame is not None:
        return Because(blame)
    if record.status != "completed":
        return Because(f"window {record.window} {record.status}{f': {record.error}' if record.error else ''}")
    phrase = next((one for predicate in enough.predicates for one in _phrases(predicate.word, predicate.value)), None)
    if phrase is None:
        return Because("the runs of `all` do not agree among themselves") if _varies(cells[-1]) else None
    rows: list[Row] = list(await runtime.store.rows(subject.thread.id, 1, subject.upto))
    earlier = await runtime.records(subject.thread.id, runs=False, limit=_EARLIER)
    found = why(record, ledger(record, earlier=earlier, rows=rows), phrase, rows)
    if found.verdict == "in":
        sentence = f"seq {found.seq} says {quoted(phrase)} and was in the context of {record.turn}, yet the answer"
        return Because(f"{sentence} does not hold it: the window is not what is missing")
    return Because(found.sentence)


def _varies(cell: Cell) -> bool:
    return len({run.group for run in cell.runs}) > 1


def _some(sought: Sought) -> tuple[str, ...]:
    return sought.phrases or tuple(sorted(sought.words))


def _said(found: Sequence[str]) -> str:
    shown = [quoted(one, 40) for one in found[:4]]
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return (", ".join(shown) + more) or "anything of the answer"
