"""`studio-tui rerun`: a turn's request again, on a view of the point where it was asked (X4)."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.messages import Window
from studio_tui.cli import options
from studio_tui.cli.following import followed
from studio_tui.cli.masking import mask_output
from studio_tui.cli.output import print_json, print_text, tell


class Asked(NamedTuple):
    """What the command line asks for."""

    turn: str
    window: Window | None
    agent: str | None
    tools: Literal["live", "recorded", "stubbed"]
    drop: tuple[int, ...]
    request: str | None
    instructions: str | None
    as_json: bool


@click.command("rerun")
@click.argument("turn")
@options.window
@options.model
@options.agent
@click.option(
    "--tools",
    type=click.Choice(["live", "recorded", "stubbed"]),
    default="recorded",
    show_default=True,
    help="How tools answer: run again, as recorded, or with a stub.",
)
@click.option("--drop", type=int, multiple=True, metavar="SEQ", help="Leave this row out; may be repeated.")
@click.option("--request", metavar="TEXT", help="Another request in place of the turn's.")
@click.option("--instructions", metavar="FILE", help="Other instructions in place of the agent's, from a text file.")
@options.store
@options.allow_tools
@options.as_json
def command(
    turn: str,
    window: Window | None,
    model: str | None,
    agent: str | None,
    tools: Literal["live", "recorded", "stubbed"],
    drop: tuple[int, ...],
    request: str | None,
    instructions: str | None,
    store: str | None,
    allow_tools: bool,
    as_json: bool,
) -> int:
    """Run a turn's request again with another window, model, agent, request, instructions, or without some rows.

    The thread does not change: the run sees its rows up to the one before the request. Tools answer as they did
    then, or again and live, or not at all.

    \b
    Example: studio-tui rerun 4kq2m7 --window all --tools recorded
    """
    from studio_tui.cli.session import with_runtime

    text = None if instructions is None else _text_of(instructions)
    asked = Asked(turn, window, agent, tools, drop, request, text, as_json)
    return with_runtime(store, lambda runtime: _rerun(runtime, asked), model=model, allow_tools=allow_tools)


async def _rerun(runtime: Runtime, asked: Asked) -> int:
    of = await runtime.record(asked.turn, bodies=False)
    await mask_output(runtime, of.thread)
    if asked.tools == "live":
        tell(await _said_first(runtime, asked))
    events = runtime.stream_rerun(
        asked.turn,
        window=asked.window,
        agent=asked.agent,
        request=asked.request,
        instructions=asked.instructions,
        tools=asked.tools,
        drop=asked.drop,
    )
    record = await runtime.record((await followed(runtime, events)).turn)
    if asked.as_json:
        from runtime.values.record_json import record_json

        print_json(record_json(record))
    else:
        from runtime.compare import compare
        from studio_tui.cli.turn_text import turn_text

        print_text(f"{turn_text(record)}\nCOMPARE  {compare(of, record).finding}")
    if record.status == "completed":
        return 0
    from runtime.explain import settlement

    tell(f"the run did not complete: {settlement(record)}")
    return 1


async def _said_first(runtime: Runtime, asked: Asked) -> str:
    """What will be executed and sent where (X4)."""
    from runtime.subject import Overrides

    subject = await runtime.subject(asked.turn, instead=asked.agent)
    plan = runtime.plan_on(subject, Overrides(asked.window, asked.agent, None, asked.request, asked.instructions))
    tools = ", ".join((*plan.tools, *plan.delegates)) or "none"
    return f"sends to {', then '.join(plan.models)}; tools that run live, on the run's own state: {tools}"


def _text_of(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be read as UTF-8 text: {error}", file=name, field="--instructions") from None
