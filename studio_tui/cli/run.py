"""`studio-tui run`: one turn without a screen, on a fresh thread unless one is named."""

from __future__ import annotations

import sys
from typing import NamedTuple

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.messages import Window
from studio_tui.cli import options
from studio_tui.cli.attachments import read_attachments
from studio_tui.cli.following import followed
from studio_tui.cli.masking import mask_output
from studio_tui.cli.output import print_json, print_text, tell


class Asked(NamedTuple):
    """What the command line asks for."""

    request: str
    seed: str | None
    thread: str | None
    agent: str | None
    window: Window | None
    brief: bool
    attach: tuple[str, ...]
    as_json: bool


@click.command("run")
@click.argument("request")
@options.seed
@click.option("--thread", metavar="ID", help="The thread to send to, instead of a fresh one.")
@options.agent
@options.window
@options.model
@click.option("--brief", is_flag=True, help="A turn without envelope: neither the request nor the answer is stored.")
@click.option("--attach", multiple=True, metavar="FILE", help="An image to send with the request; may be repeated.")
@options.store
@options.allow_tools
@options.as_json
def command(
    request: str,
    seed: str | None,
    thread: str | None,
    agent: str | None,
    window: Window | None,
    model: str | None,
    brief: bool,
    attach: tuple[str, ...],
    store: str | None,
    allow_tools: bool,
    as_json: bool,
) -> int:
    """Run one turn and print its context, steps, answer and finding, or its whole record as JSON.

    On a fresh thread (of the seed, if one is named) unless --thread names one. Ctrl-C stops the turn and settles it.
    Exit status 0: the turn completed; 1: it did not.

    \b
    Example: studio-tui run --seed friday-notes --window 2 --json "What is in the draft?"
    """
    if seed is not None and thread is not None:
        raise BadInput("a turn runs on a thread or on a fresh one of a seed: give --thread or --seed", field="--thread")
    from studio_tui.cli.session import with_runtime

    asked = Asked(request, seed, thread, agent, window, brief, attach, as_json)
    return with_runtime(store, lambda runtime: _run(runtime, asked), model=model, allow_tools=allow_tools)


async def _run(runtime: Runtime, asked: Asked) -> int:
    attachments = read_attachments(asked.attach)
    thread, agent = asked.thread, asked.agent
    if thread is not None:
        await mask_output(runtime, thread)
    fresh = thread is None
    if thread is None:
        from studio_tui.cli.seed_source import seed_given

        thread = await runtime.create_thread(seed=seed_given(asked.seed), agent=asked.agent or "")
        agent = None
    events = runtime.stream(
        thread, asked.request, window=asked.window, brief=asked.brief, agent=agent, attachments=attachments
    )
    try:
        settled = await followed(runtime, events, progress=not asked.as_json and sys.stderr.isatty())
    except BadInput:
        if fresh:  # the turn was refused before it opened: the thread made for it has no use
            await runtime.store.delete_thread(thread)
        raise
    record = await runtime.record(settled.turn)
    if asked.as_json:
        from runtime.values.record_json import record_json

        print_json(record_json(record))
    else:
        from studio_tui.cli.turn_text import turn_text

        print_text(turn_text(record))
    if record.status != "completed":
        from runtime.explain import settlement

        tell(f"the turn did not complete: {settlement(record)}")
        return 1
    return 0
