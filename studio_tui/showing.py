"""What each line around the panes shows of the desk: head, window bar, budget, composer title, status, finding."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.values.messages import Window
from studio_tui.desk import NEXT, Desk
from studio_tui.widgets.budget_line import Budget
from studio_tui.widgets.footer import Status
from studio_tui.widgets.head_line import Head
from studio_tui.widgets.window_bar import Windows
from studio_tui.windows import same

if TYPE_CHECKING:
    from runtime.values.record import ContextRecord, TurnRecord


def head_of(desk: Desk, store: str) -> Head:
    """The path to what is studied, the agent, the models."""
    if desk.thread is None:
        return Head(("opening …",) if desk.opening else (), "", (), store)
    name = desk.thread.name or (desk.seed.name if desk.seed else "")
    path = [name] if name else []
    path.append(f"thread {desk.thread.id}")
    path.append("next turn" if desk.selected == NEXT else _turn_name(desk))
    path += [f"delegated to {each}" for each in _delegates(desk)]
    models = desk.plan.models if desk.plan else ()
    return Head(tuple(path), desk.agent.name if desk.agent else "", models, store)


def windows_of(desk: Desk) -> Windows:
    """What the window bar shows."""
    record = desk.record
    if desk.thread is None:
        return Windows()
    if record is None:
        stored = desk.preview.context.stored if desk.preview else desk.thread.length + 1
        return Windows(None, desk.next_window, stored, request=True, coming=True)
    stored = record.context.stored if record.context else 0
    laid = None if desk.window is None else desk.window
    told = ""
    if record.origin == "recorded" and record.context is not None:
        from runtime.recorder.words import sent_words

        told = sent_words(record.context)
    return Windows(record.window, laid, stored, request=_has_request(record), told=told)


def budget_of(desk: Desk) -> Budget | None:
    """The tokens of what is studied; None if nothing was assembled."""
    record, item = desk.record, desk.preview
    if record is None and item is None:
        return None
    from runtime.explain.windows import parts_of, window_cannot_help

    if record is None:
        return None if item is None else Budget(parts_of(item.context), item.limit, item.reserve, sent=False)
    if record.context is None:
        return None
    limit, reserve = (record.fit.limit, record.fit.reserve) if record.fit else (0, 0)
    overflow = record.overflow
    before = overflow.parts if overflow is not None else parts_of(record.context)
    after = dict(desk.what_if.after) if desk.what_if is not None else None
    if after is not None and overflow is not None:
        after["transcript"] = overflow.parts.get("transcript", 0)
    note = "no window can help" if window_cannot_help(record) else ""
    return Budget(before, limit, reserve, after, note=note)


def composer_title(desk: Desk) -> str:
    """What sending would do."""
    if desk.thread is None:
        return "ASK  opening …" if desk.opening else "ASK  open a thread, a seed or a file first (^o)"
    if desk.session is not None:
        return f"ASK  as the customer, in session {desk.session}"
    return f"ASK  as the next turn of {desk.thread.id}, window {desk.next_window}"


def status_of(desk: Desk, *, saved: bool, seconds: float = 0.0, working: str = "", stopping: bool = False) -> Status:
    """What is going on. `saved` is false for a store that lives in memory; `working` names other work under way."""
    live = desk.live
    if live is not None and desk.running:
        doing = "stopping" if stopping else f"running step {max(live.step, 1)}"
        return Status(f"{doing} · {seconds:.1f} s · ^c stop", "bold $text-warning")
    if working:
        return Status(f"{working} · ^c stop", "bold $text-warning")
    if desk.elsewhere:
        return Status(desk.elsewhere, "$text-warning")
    return Status("idle · saved" if saved else "idle · in memory")


def finding_of(desk: Desk) -> str:
    """What the screen has found, as one sentence with its numbers (X8); empty if there is nothing to say."""
    from runtime.explain import settlement, turn_name

    record = desk.record
    if record is None:
        return _next_finding(desk)
    name = turn_name(record)
    place = f"{name} of thread {record.thread}"
    if desk.what_if is not None:
        sizes = f"{desk.what_if.tokens_before} to {desk.what_if.tokens_after} tokens"
        return f"{place} was sent with window {record.window}; {desk.what_if.sentence} ({sizes}, estimate, not sent)."
    if record.context is None:
        return f"{place}, window {record.window}: {settlement(record)}."
    return f"{place}, window {record.window}: {_selected(record.context)}; {settlement(record)}."


def _next_finding(desk: Desk) -> str:
    if desk.preview is None or desk.thread is None:
        return ""
    where = f"the next turn of thread {desk.thread.id} with window {desk.next_window}"
    return f"{where} would be sent {_selected(desk.preview.context)} (not sent)."


def _selected(context: ContextRecord) -> str:
    from runtime.explain import ranges

    seqs = ranges(row.seq for row in context.rows)
    told = f"{context.selected} of {context.stored} stored messages"
    return f"{told} (seq {seqs})" if seqs else told


def overlaid(record: TurnRecord | None, window: Window | None) -> bool:
    """Whether the window shown is another one than the record's."""
    return record is not None and window is not None and not same(window, record.window)


def _has_request(record: TurnRecord) -> bool:
    from runtime.explain.windows import request_stored

    return record.kind == "envelope" and (record.context is None or request_stored(record.context))


def _turn_name(desk: Desk) -> str:
    turn = desk.turn(desk.selected)
    if turn is None:
        return "turn"
    if turn.view is not None:
        return f"re-run {turn.id}, window {turn.window}"
    return f"turn {turn.number}" if turn.number else f"turn {turn.id}"


def _delegates(desk: Desk) -> list[str]:
    found: list[str] = []
    record = desk.root
    for id in desk.inside:
        below = (record.children or {}).values() if record is not None else ()
        record = next((each for each in below if each.turn == id), None)
        found.append(record.agent if record is not None else id)
    return found
