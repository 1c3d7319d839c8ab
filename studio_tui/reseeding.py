"""A fresh thread from the seed of the one on the desk, with another agent or another file of the seed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.errors import BadInput

if TYPE_CHECKING:
    from studio_tui.desk import Desk


async def reseeded(desk: Desk, *, agent: str = "", seed: str = "") -> str:
    """The fresh thread; `agent` and `seed` (paths) take the place of the thread's own. Raises BadInput,
    ConfigurationError.

    A thread that was told another agent than its seed's keeps that one.
    """
    thread, known = desk.thread, desk.seed
    if thread is None:
        raise BadInput("nothing is open")
    if not agent and known is not None and thread.agent != known.agent:
        agent = thread.agent
    source = seed or thread.seed
    if source is not None:
        return await desk.runtime.create_thread(seed=source, agent=agent)
    start = await desk.runtime.store.state(thread.id, seq=0)
    return await desk.runtime.create_thread(agent=agent or thread.agent, state=start)
