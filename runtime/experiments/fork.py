"""A run made a thread: a fork at the rows the run saw, with its request, its answer and its turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.errors import BadInput
from runtime.stores import NewTurn, Store
from runtime.stores.owner import this_process
from runtime.values.messages import NewMessage
from runtime.values.record import Settlement, Turn

if TYPE_CHECKING:
    from runtime.threads import Runtime


async def make_fork(runtime: Runtime, turn: str) -> str:
    """A thread forked after the rows that a run on a view saw; the run's request and, if it completed, its answer are
    its next rows, the run its first turn, the state after it the thread's (X4). Returns its id.

    Rows that the run left out or saw with another text are in the fork as they are stored. Raises UnknownTurn, and
    BadInput for a turn that is no run or still runs.
    """
    store = runtime.store
    run = await store.turn(turn)
    if run.view is None or run.parent is not None:
        raise BadInput(f"turn {turn} is no run on a view: fork its thread instead", field="turn")
    if run.status == "running":
        raise BadInput(f"run {turn} has not ended", field="turn")
    thread = await store.fork(run.thread, run.view.upto)
    try:
        await _copy(store, run, thread, None)
    except BaseException:
        await store.delete_thread(thread)
        raise
    return thread


async def _copy(store: Store, run: Turn, thread: str, parent: str | None) -> None:
    """The turn `run` with its delegated turns, as a turn of `thread`."""
    envelope = run.kind == "envelope"
    new = NewTurn(
        thread, run.kind, run.agent, run.window, run.request,
        owner=this_process(), parent=parent, parent_step=run.parent_step, parent_call=run.parent_call,
        state=run.state_before,
    )  # fmt: skip
    opened = await store.open_turn(new, NewMessage("user", run.request) if envelope else None)
    try:
        await _fill(store, run, opened)
    except BaseException:  # a turn left open would hold the fork's place until this process ends (S7)
        interrupted = Settlement("failed", "interrupted", "making the fork was interrupted")
        await store.settle(opened.id, (), interrupted, state=run.state_before)
        raise


async def _fill(store: Store, run: Turn, opened: Turn) -> None:
    """The journal, the delegated turns and the settlement of `run`, for its copy."""
    items = await store.items(run.id)
    settlement = next((item.body for item in items if isinstance(item.body, Settlement)), Settlement(run.status))
    bodies = {}
    for step in {item.step for item in items if item.kind == "step"}:
        body = await store.body(run.id, step)
        if body is not None:
            bodies[step] = body
    await store.journal(opened.id, [item for item in items if item.kind != "settlement"], bodies=bodies)
    for child in await store.children(run.id):
        await _copy(store, child, opened.thread, opened.id)
    answered = run.kind == "envelope" and settlement.status == "completed"
    message = NewMessage("assistant", settlement.answer or "") if answered else None
    state = run.state_after if run.state_after is not None else run.state_before
    await store.settle(opened.id, (), settlement, message=message, state=state)
