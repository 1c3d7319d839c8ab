"""A turn as text for people: what was in front of the model, what it did, how it ended, and the finding."""

from __future__ import annotations

from collections.abc import Iterator

from runtime.explain import finding, ledger, next_sees, off_by, ratio_of, settlement, state_changed_since, turn_name
from runtime.explain.accounts import InContext, LeftOutRows
from runtime.values.items import AssistantStep, Nudge, ToolResult, ToolResults
from runtime.values.json import as_text
from runtime.values.record import Attempt, ContextRecord, SectionRecord, TurnRecord
from studio_tui.cli.output import columns, one_line

_NAMES = {"instructions": "instructions", "state": "state views", "history": "history", "request": "request"}


def turn_text(record: TurnRecord) -> str:
    """The whole turn, sections first; texts are raw, whoever prints them makes them safe."""
    lines = [_head(record), *_told_apart(record)]
    if record.context is not None:
        lines += ["", *_context(record, record.context)]
    if record.transcript or record.tiers:
        lines += ["", "MODEL", *_steps(record, "  ")]
    lines += ["", f"ENDED    {settlement(record)}"]
    if record.answer is not None:
        lines += ["", "ANSWER", *_indented(record.answer, "  ")]
    lines += ["", *_afterwards(record), f"FINDING  {finding(record)}"]
    return "\n".join(lines)


def _head(record: TurnRecord) -> str:
    model = record.tiers[-1].model if record.tiers else "no model called"
    if model == "offline":
        model = "offline (no LLM: quotes only what it sees)"
    name = turn_name(record)
    if record.turn not in name:
        name = f"{name} · {record.turn}"
    return f"{name} · thread {record.thread} · agent {record.agent} · {model} · window {record.window}"


def _told_apart(record: TurnRecord) -> Iterator[str]:
    if record.origin == "recorded" and record.context is not None:
        from runtime.recorder.words import program_words, sent_words

        yield from (sent_words(record.context), *program_words(record.context))
    if record.origin == "imported":
        from runtime.transcripts.turns import INFERRED, RECORDED

        yield f"imported: recorded are {', '.join(RECORDED)}; inferred are {', '.join(INFERRED)}"


def _context(record: TurnRecord, context: ContextRecord) -> Iterator[str]:
    fit = record.fit
    room = f", {fit.estimate} tokens of {fit.limit - fit.reserve} ({fit.reserve} kept for the answer)" if fit else ""
    yield f"CONTEXT  {context.selected} of {context.stored} stored messages{room}"
    since = context.since
    if since.turn is not None:
        yield f"  since the turn before   entered {_seqs(since.entered)}   fell out {_seqs(since.left)}"
    for section in context.sections:
        yield from _section(record, section)
    if not context.rows:
        yield "  history: nothing was selected"
        yield from _rows(record)
    if context.tools:
        tokens = sum(tool.tokens for tool in context.tools)
        yield f"  tools offered ({tokens} tokens)  {', '.join(tool.name for tool in context.tools)}"


def _seqs(seqs: tuple[int, ...]) -> str:
    from runtime.explain import ranges

    return ranges(seqs) or "nothing"


def _section(record: TurnRecord, section: SectionRecord) -> Iterator[str]:
    yield f"  {_NAMES[section.name]} ({section.tokens} tokens)"
    if section.name == "history":
        yield from _rows(record)
        return
    yield from _indented(section.text.rstrip(), "    ")
    if section.name == "state":
        yield from (f"    ! {change.key}: {change.sentence}" for change in state_changed_since(record) if change.shown)


def _rows(record: TurnRecord) -> Iterator[str]:
    cells = [("in≥", "seq", "role", "", "tokens")]
    for account in ledger(record):
        if isinstance(account, LeftOutRows):
            span = str(account.first) if account.count == 1 else f"{account.first}-{account.last}"
            needs = {needs for needs in (account.needs_first, account.needs_last) if needs is not None}
            wide = "-".join(str(needs) for needs in sorted(needs, reverse=True)) or "-"
            cells.append((wide, span, "", f"left out: {account.reason}", ""))
        elif isinstance(account, InContext):
            also = "  (also the request)" if account.is_request else ""
            text = f"{one_line(account.text)}{also}"
            cells.append((str(account.needs), str(account.seq), account.role, text, str(account.tokens)))
    for line in columns(cells, right=(0, 1, 4)):
        yield f"    {line}"


def _steps(record: TurnRecord, indent: str) -> Iterator[str]:
    told = 0
    for item in record.transcript:
        if isinstance(item, AssistantStep):
            yield from _attempts(record, told + 1, item.step, indent)
            told = item.step
            yield from _step(item, indent)
        elif isinstance(item, ToolResults):
            for result in item.results:
                yield from _result(record, result, indent)
        elif isinstance(item, Nudge):
            yield f"{indent}  asked again: {one_line(item.text)}"
    if record.tiers:
        yield from _attempts(record, told + 1, record.tiers[-1].step, indent)


def _attempts(record: TurnRecord, first: int, last: int, indent: str) -> Iterator[str]:
    for attempt in record.tiers:
        if first <= attempt.step <= last:
            yield f"{indent}step {attempt.step}  {attempt.model}  est {attempt.estimate}{_said(attempt)}"


def _said(attempt: Attempt) -> str:
    if attempt.outcome == "ok":
        used, ratio = attempt.usage, ratio_of([attempt])
        off = f" · est {off_by(ratio)}" if ratio is not None else ""
        return f" · said {used.input} in, {used.output} out{off}" if used is not None else ""
    status = f" {attempt.status}" if attempt.status is not None else ""
    error = f": {one_line(attempt.error)}" if attempt.error else ""
    return f"  {attempt.outcome}{status}{error}"


def _step(item: AssistantStep, indent: str) -> Iterator[str]:
    if item.empty:
        yield f"{indent}  said nothing"
    yield from _indented(item.text, f"{indent}  ") if item.text else ()
    for call in item.calls:
        yield f"{indent}  → {call.name} {one_line(call.arguments_text())}"


def _result(record: TurnRecord, result: ToolResult, indent: str) -> Iterator[str]:
    child = (record.children or {}).get(result.id)
    if child is not None:
        yield f"{indent}    delegated to {child.agent}, window {child.window}, {child.turn}: {settlement(child)}"
        yield from _steps(child, f"{indent}    ")
    error = "error: " if result.error else ""
    abandoned = "  (it could not be interrupted; what it returned later was dropped)" if result.abandoned else ""
    yield f"{indent}  ← {error}{one_line(as_text(result.output))}{abandoned}"


def _afterwards(record: TurnRecord) -> Iterator[str]:
    if record.status == "running" or record.is_run or record.kind != "envelope":
        return
    seen = next_sees(record)
    yield f"NEXT     the next turn sees {', '.join(seen.sees) or 'nothing of it'}"
    if seen.not_sees:
        yield f"         and not {', '.join(seen.not_sees)}"
    yield ""


def _indented(text: str, indent: str) -> Iterator[str]:
    return (f"{indent}{line}".rstrip() for line in text.split("\n"))
