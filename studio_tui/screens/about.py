"""Where the thread on the desk comes from: its seed, file or base, what was not carried, who answers on it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from runtime.values.json import Json, as_text
from studio_tui.desk import Desk
from studio_tui.screens.dialog import text_pane
from studio_tui.screens.reader import Reader


def about_thread(desk: Desk) -> Reader:
    """What is known about the thread, as a text to read and copy."""
    text = "\n".join(_lines(desk))
    return Reader("About this thread", "", text_pane("About this thread", text), text)


def _lines(desk: Desk) -> Iterator[str]:
    thread, agent, plan = desk.thread, desk.agent, desk.plan
    assert thread is not None
    yield f"thread      {thread.id}   {thread.name}"
    yield f"origin      {thread.origin}   {thread.created:%Y-%m-%d %H:%M} UTC   {thread.length:,} messages"
    if thread.parent:
        yield f"forked      from {thread.parent} at seq {thread.forked_at}"
    if thread.seed:
        yield f"seed        {thread.seed}"
    if agent is not None:
        yield f"agent       {agent.name}   {agent.file or ('shipped' if agent.shipped else '')}"
    if plan is not None:
        yield f"models      {', then '.join(plan.models)}"
        yield f"tools       {', '.join(plan.tools) or 'none'}"
        if plan.delegates:
            yield f"may ask     {', '.join(plan.delegates)}"
    if desk.plan_problem:
        yield f"cannot run  {desk.plan_problem}"
    for name, value in thread.state.items():
        yield f"state       {name}: {as_text(value)}"
    yield from _of_file(thread.about or {})


def _of_file(about: Mapping[str, Json]) -> Iterator[str]:
    """What an import kept of its file; see `runtime.imports`."""
    for key, name in (("file", "file"), ("format", "format"), ("why", "read as this because"), ("model", "its model")):
        if about.get(key):
            yield f"{name:<11} {as_text(about[key])}"
    for key, name in (("recorded", "recorded in the file"), ("inferred", "inferred, not in the file")):
        found = about.get(key)
        if isinstance(found, Sequence) and not isinstance(found, str) and found:
            yield f"{name}: {', '.join(as_text(each) for each in found)}"
    for key, title in (("lost", "not carried:"), ("marked", "kept, but marked:")):
        found = about.get(key)
        if isinstance(found, Sequence) and not isinstance(found, str) and found:
            yield title
            for each in found:
                if isinstance(each, Mapping):
                    count, what, reason = (as_text(each.get(name, "")) for name in ("count", "what", "reason"))
                    yield f"  {count} x {what}: {reason}"
