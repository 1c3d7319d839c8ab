"""Why a message is in front of the model, or is not: one sentence with the numbers in it (X8)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.explain.accounts import Account, InContext, LeftOutRows, NeverStored
from runtime.explain.words import LEFT_OUT_WORDS, UNSTORED_WORDS, quoted, ranges, turn_name
from runtime.values.items import AssistantStep, Nudge, ToolResults
from runtime.values.json import as_text, compact
from runtime.values.messages import Message, Row, Window
from runtime.values.record import ContextRecord, LeftOutReason, TurnRecord, UnstoredReason

Verdict = Literal["in", "out", "never-stored", "later", "elsewhere", "nowhere"]
"""In the context as a row; a row left out; never a row; a row stored later; in another part of what this turn was sent
or did; in nothing of the thread."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to *why is it there, why is it not*. `sentence` says all of it, ready to be copied.

    `seq` is the row it is about, None if it is about none; `place` its place in the context, from 1. `needs` is the
    smallest window that would include it, None if no window does. `matches` are the rows that hold the text asked for.
    """

    sentence: str
    verdict: Verdict
    window: Window
    seq: int | None = None
    place: int | None = None
    reason: LeftOutReason | UnstoredReason | None = None
    needs: int | None = None
    turn: str | None = None
    matches: tuple[int, ...] = ()


def why(record: TurnRecord, accounts: Sequence[Account], about: int | str, rows: Sequence[Row] = ()) -> Finding:
    """Where row `about` (a seq), or what says the text `about`, is in the turn's context, or why it is not.

    `accounts` is the turn's `ledger`. A text is looked for without regard to case: in the rows, in the other parts of
    what the turn was sent and did, in what was never stored. `rows` are the thread's rows; without them only the
    rows in the context can be searched.
    """
    if record.context is None:
        name = turn_name(record)
        return Finding(f"{name} has no recorded context: it ended before one was assembled", "nowhere", record.window)
    if isinstance(about, int):
        return _about_row(record, record.context, accounts, about)
    return _about_text(record, record.context, accounts, about, rows)


def _about_row(
    record: TurnRecord, context: ContextRecord, accounts: Sequence[Account], seq: int, saying: str = ""
) -> Finding:
    name, subject = turn_name(record), f"seq {seq}{saying}"
    account = _account_of(accounts, seq)
    if isinstance(account, InContext):
        also = "; it is also the request, stored first" if account.is_request else ""
        sentence = (
            f"{subject} is in the context of {name}: place {account.place} of {context.selected}, "
            f"{account.tokens} tokens; any window of {account.needs} or more includes it{also}"
        )
        return Finding(sentence, "in", record.window, seq, account.place, None, account.needs)
    if isinstance(account, LeftOutRows):
        needs = None if account.needs_last is None else account.needs_last + account.last - seq
        ending = _left_out(record, context, account.reason, needs)
        sentence = f"{subject} is not in the context of {name}: {account.reason}; {ending}"
        return Finding(sentence, "out", record.window, seq, None, account.reason, needs)
    return _not_of_this_turn(record, context, seq, subject)


def _left_out(record: TurnRecord, context: ContextRecord, reason: LeftOutReason, needs: int | None) -> str:
    if needs is None:
        return LEFT_OUT_WORDS[reason]
    taken = ranges(row.seq for row in context.rows)
    took = f"window {record.window} took seq {taken}" if taken else f"window {record.window} takes no stored message"
    return f"{took}; a window of {needs} or more would include it"


def _not_of_this_turn(record: TurnRecord, context: ContextRecord, seq: int, subject: str) -> Finding:
    name = turn_name(record)
    if seq == record.stored_assistant:
        sentence = f"{subject} is the answer of {name} itself, stored when the turn ended"
    elif seq > context.stored:
        held = f"{context.stored} rows" if context.stored != 1 else "1 row"
        sentence = f"{subject} is later than {name}: the thread held {held} when its context was assembled"
    else:
        sentence = f"the thread has no seq {seq}: rows are counted from 1"
        return Finding(sentence, "nowhere", record.window)
    return Finding(sentence, "later", record.window, seq)


def _account_of(accounts: Iterable[Account], seq: int) -> Account | None:
    for account in accounts:
        if isinstance(account, InContext):
            if account.seq == seq:
                return account
        elif isinstance(account, LeftOutRows) and account.first <= seq <= account.last:
            return account
    return None


def _about_text(
    record: TurnRecord, context: ContextRecord, accounts: Sequence[Account], text: str, rows: Sequence[Row]
) -> Finding:
    wanted = text.casefold()
    if not wanted.strip():
        return Finding("nothing was asked for: name a seq or a text", "nowhere", record.window)
    matches = _rows_that_say(accounts, wanted, rows, context.stored)
    own = next((row.seq for row in context.rows if row.is_request), record.stored_user)
    if matches == (own,):
        never = _in_never_stored(record, accounts, wanted, quoted(text), rows)
        if never is not None:
            return _with_matches(never, matches, f"; seq {own}, the request itself, says it too")
    if matches:
        seq = _most_telling(accounts, tuple(seq for seq in matches if seq != own) or matches)
        found = _about_row(record, context, accounts, seq, f" says {quoted(text)} and")
        others = tuple(other for other in matches if other != seq)
        return _with_matches(found, matches, _others(accounts, others))
    for search in (_in_sections, _in_calls_of_rows, _in_never_stored, _in_own_transcript, _in_later_rows):
        sentence = search(record, accounts, wanted, quoted(text), rows)
        if sentence is not None:
            return sentence
    return Finding(f"nothing in this thread says {quoted(text)}", "nowhere", record.window)


def _rows_that_say(accounts: Sequence[Account], wanted: str, rows: Sequence[Row], stored: int) -> tuple[int, ...]:
    """The seqs of the rows whose text holds `wanted`, ascending; what the context holds goes by the context's text."""
    sent = {account.seq: account.text for account in accounts if isinstance(account, InContext)}
    found = {seq for seq, said in sent.items() if wanted in said.casefold()}
    for row in rows:
        if isinstance(row, Message) and row.seq not in sent and row.seq <= stored and wanted in row.text.casefold():
            found.add(row.seq)
    return tuple(sorted(found))


def _most_telling(accounts: Sequence[Account], matches: Sequence[int]) -> int:
    """Of rows besides the request, the newest in the context, else the newest that a window would include."""
    included = {account.seq for account in accounts if isinstance(account, InContext)}
    here = [seq for seq in matches if seq in included]
    if here:
        return here[-1]
    curable = [account for account in accounts if isinstance(account, LeftOutRows) and account.needs_last is not None]
    starts = [account.first for account in curable]
    for seq in reversed(matches):
        at = bisect_right(starts, seq) - 1
        if at >= 0 and seq <= curable[at].last:
            return seq
    return matches[-1]


def _others(accounts: Sequence[Account], others: Sequence[int]) -> str:
    if not others:
        return ""
    included = {account.seq for account in accounts if isinstance(account, InContext)}
    here, out = [seq for seq in others if seq in included], [seq for seq in others if seq not in included]
    told = [f"seq {ranges(seqs)}, {where}" for seqs, where in ((here, "in the context"), (out, "left out")) if seqs]
    return f"; also said by {' and '.join(told)}"


def _with_matches(found: Finding, matches: tuple[int, ...], ending: str) -> Finding:
    return Finding(
        found.sentence + ending,
        found.verdict,
        found.window,
        found.seq,
        found.place,
        found.reason,
        found.needs,
        found.turn,
        matches,
    )


def _in_sections(
    record: TurnRecord, accounts: Sequence[Account], wanted: str, said: str, rows: Sequence[Row]
) -> Finding | None:
    assert record.context is not None
    names = {"instructions": "the instructions", "state": "the state views", "request": "the request"}
    for section in record.context.sections:
        if section.name in names and wanted in section.text.casefold():
            where = (
                f"no stored message says {said}; {names[section.name]} of {turn_name(record)} did, whatever the window"
            )
            return Finding(where, "elsewhere", record.window)
    for tool in record.context.tools:
        if wanted in f"{tool.name} {tool.description} {compact(tool.schema)}".casefold():
            where = f"no stored message says {said}; the tool {tool.name} offered to {turn_name(record)} does"
            return Finding(where, "elsewhere", record.window)
    return None


def _in_calls_of_rows(
    record: TurnRecord, accounts: Sequence[Account], wanted: str, said: str, rows: Sequence[Row]
) -> Finding | None:
    for row in reversed(rows):
        if isinstance(row, Message) and row.parts and wanted in compact(row.parts).casefold():
            sentence = (
                f"no stored message says {said}; a part of seq {row.seq} does (a call, an attachment), and only the "
                "text of a stored message is sent"
            )
            return Finding(sentence, "elsewhere", record.window, row.seq)
    return None


def _in_never_stored(
    record: TurnRecord, accounts: Sequence[Account], wanted: str, said: str, rows: Sequence[Row]
) -> Finding | None:
    found = [
        account
        for account in accounts
        if isinstance(account, NeverStored) and wanted in f"{account.name} {account.text}".casefold()
    ]
    if not found:
        return None
    account = found[-1]
    who = _WHO[account.what].format(name=account.name, step=account.step)
    more = f" (and in {len(found) - 1} more such places)" if len(found) > 1 else ""
    sentence = (
        f"{said} stands in {who} of {account.turn_name}{more}, {account.reason}: "
        f"{UNSTORED_WORDS[account.reason]}, so no window brings it to {turn_name(record)}"
    )
    return Finding(sentence, "never-stored", record.window, reason=account.reason, turn=account.turn)


_WHO = {
    "request": "the request",
    "answer": "the answer",
    "text": "what the model said in step {step}",
    "call": "a call of {name} in step {step}",
    "result": "a result of {name} in step {step}",
    "nudge": "the asking again after step {step}",
}


def _in_own_transcript(
    record: TurnRecord, accounts: Sequence[Account], wanted: str, said: str, rows: Sequence[Row]
) -> Finding | None:
    for what, step, text in _own(record):
        if wanted in text.casefold():
            sentence = (
                f"no stored message said {said} when {turn_name(record)} opened: {what} of its own step {step} did"
            )
            return Finding(sentence, "elsewhere", record.window)
    return None


def _own(record: TurnRecord) -> Iterator[tuple[str, int, str]]:
    for item in record.transcript:
        if isinstance(item, AssistantStep):
            yield "the text", item.step, item.text
            yield from ((f"a call of {call.name}", item.step, call.arguments_text()) for call in item.calls)
        elif isinstance(item, ToolResults):
            yield from ((f"a result of {result.name}", item.step, as_text(result.output)) for result in item.results)
        elif isinstance(item, Nudge):
            yield "the asking again", item.step, item.text


def _in_later_rows(
    record: TurnRecord, accounts: Sequence[Account], wanted: str, said: str, rows: Sequence[Row]
) -> Finding | None:
    assert record.context is not None
    stored = record.context.stored
    for row in rows:
        if isinstance(row, Message) and row.seq > stored and wanted in row.text.casefold():
            held = f"the thread held {stored} rows then"
            sentence = f"seq {row.seq} says {said}, and is later than the context of {turn_name(record)}: {held}"
            return Finding(sentence, "later", record.window, row.seq, matches=(row.seq,))
    return None
