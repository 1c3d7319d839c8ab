"""`studio-tui sweep`: the same request under several windows; which is enough, and which message entered there."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Coroutine
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.messages import Window, read_window
from studio_tui.cli import options
from studio_tui.cli.following import interrupts
from studio_tui.cli.masking import mask_for
from studio_tui.cli.output import print_json, print_text, tell

if TYPE_CHECKING:
    from runtime.experiments import AblateSpec, Ablation, Sweep, SweepSpec
    from runtime.subject import Subject
    from runtime.values.json import Json


class Asked(NamedTuple):
    """What the command line asks for."""

    request: str | None
    seed: str | None
    of: str | None
    agents: tuple[str, ...]
    windows: tuple[Window, ...]
    models: tuple[str, ...]
    repeat: int
    enough: tuple[str, ...]
    at_least: int | None
    smallest: bool
    without: bool
    tools: Literal["live", "recorded", "stubbed"] | None
    drop: tuple[int, ...]
    concurrency: int
    as_json: bool
    csv: str | None
    markdown: str | None


@click.command("sweep")
@click.argument("request", required=False)
@options.seed
@click.option("--from", "of", metavar="TURN", help="The turn whose request is run again, on a view of its own point.")
@click.option("--open", "kept", metavar="ID", help="Show a kept sweep, or what leaving one out found; nothing is run.")
@click.option("--windows", metavar="W,W,...", help="Windows to try, all besides [default: 0,2,6 and the agent's own].")
@click.option("--models", metavar="M,M,...", help="Models to try, each under every window [default: the agent's own].")
@click.option("--agents", metavar="A,A,...", help="Agents to try, by name or file [default: the thread's own].")
@click.option("--repeat", type=click.IntRange(1), default=1, show_default=True, metavar="K", help="Runs of a window.")
@click.option(
    "--enough",
    multiple=True,
    metavar="PREDICATE",
    help="When a run is enough: 'contains: TEXT', lacks, matches, equals, 'calls: TOOL', 'json: VALUE', or 'same as "
    "all'; given again, all of them must hold [default: same as all].",
)
@click.option("--at-least", type=click.IntRange(1), metavar="K", help="Repeats that must pass [default: all].")
@click.option("--smallest", is_flag=True, help="Find the smallest window that is enough, by bisection.")
@click.option(
    "--without", type=click.Choice(["each"]), help="Leave out each message and other part in turn, at the window found."
)
@click.option("--tools", type=click.Choice(["live", "recorded", "stubbed"]), help="[default: recorded; of a seed live]")
@click.option("--drop", type=int, multiple=True, metavar="SEQ", help="Leave this row out of every run; repeatable.")
@click.option("--concurrency", type=click.IntRange(1), default=8, show_default=True, metavar="N", help="Runs at once.")
@click.option("--csv", metavar="FILE", help="Write a line for each run.")
@click.option("--markdown", metavar="FILE", help="Write the table and the finding.")
@options.store
@options.allow_tools
@options.as_json
def command(
    request: str | None,
    seed: str | None,
    of: str | None,
    kept: str | None,
    windows: str | None,
    models: str | None,
    agents: str | None,
    repeat: int,
    enough: tuple[str, ...],
    at_least: int | None,
    smallest: bool,
    without: str | None,
    tools: Literal["live", "recorded", "stubbed"] | None,
    drop: tuple[int, ...],
    concurrency: int,
    csv: str | None,
    markdown: str | None,
    store: str | None,
    allow_tools: bool,
    as_json: bool,
) -> int:
    """Run one request under several windows and say which is enough, which message entered there, and what it says.

    Of a turn (--from) its own request is run again; of a seed REQUEST, or the first it suggests. Nothing is added to
    the thread: every run looks at a view of it. Ctrl-C stops and keeps what is done. Exit status 0: a window is
    enough; 1: none is, or it was stopped.

    \b
    Example: studio-tui sweep --seed friday-notes --smallest --enough 'contains: 5th' "When is the Friday draft due?"
    Example: studio-tui sweep --from 4kq2m7xz --windows 0,2,6,all --repeat 5 --json
    Example: studio-tui sweep --open f68m18g --markdown found.md
    """
    from studio_tui.cli.session import with_runtime

    if kept is not None:
        if (seed, of, request) != (None, None, None):
            raise BadInput("--open shows what was kept: it takes neither a seed nor a turn nor a request")
        return with_runtime(store, lambda runtime: _opened(runtime, kept, csv, markdown, as_json))
    if (seed is None) == (of is None):
        raise BadInput("a sweep is of a turn or of a seed: give --from or --seed", field="--seed")
    asked = Asked(
        request, seed, of, _names(agents), _windows(windows), _models(models), repeat, enough, at_least, smallest,
        without is not None, tools, drop, concurrency, as_json, csv, markdown,
    )  # fmt: skip
    return with_runtime(store, lambda runtime: _sweep(runtime, asked), allow_tools=allow_tools)


def _names(text: str | None) -> tuple[str, ...]:
    return tuple(one.strip() for one in text.split(",") if one.strip()) if text else ()


def _windows(text: str | None) -> tuple[Window, ...]:
    return tuple(read_window(one.strip(), field="--windows") for one in text.split(",")) if text else ()


def _models(text: str | None) -> tuple[str, ...]:
    read = options.ModelType()
    return tuple(read.convert(one, None, None) for one in _names(text))


async def _sweep(runtime: Runtime, asked: Asked) -> int:
    from runtime.experiments import announce, run_ablation, run_sweep

    subject, made = await _subject(runtime, asked)
    await mask_for(runtime, [subject.thread])
    try:
        spec = _spec(asked, subject)
        tell((await announce(runtime, subject, spec)).sentence)
    except BadInput:
        if made:  # nothing was run on the thread made for it
            await runtime.store.delete_thread(subject.thread.id)
        raise
    found = await stoppable(lambda told: run_sweep(runtime, subject, spec, progress=told))
    ablation = None
    if asked.without and found.state == "done":
        chosen = _around(spec, found, subject)
        tell((await announce(runtime, subject, chosen)).sentence)
        ablation = await stoppable(lambda told: run_ablation(runtime, subject, chosen, progress=told))
    _write(asked.csv, asked.markdown, found)
    if asked.as_json:
        print_json(_json(found, ablation))
    else:
        from studio_tui.cli.sweep_text import lines_of

        print_text("\n".join(lines_of(found, ablation)))
    return _status(found)


def _status(found: Sweep) -> int:
    return 0 if found.state == "done" and found.smallest_sufficient is not None else 1


async def _subject(runtime: Runtime, asked: Asked) -> tuple[Subject, bool]:
    """What is studied, and whether a thread was made for it."""
    if asked.of is not None:
        subject = await runtime.subject(asked.of)
        return (replace(subject, request=asked.request) if asked.request is not None else subject), False
    from studio_tui.cli.seed_source import seed_given

    thread = await runtime.create_thread(seed=seed_given(asked.seed))
    request = asked.request
    if request is None:
        seed = await runtime.seed_of(thread)
        request = next(iter(seed.suggestions if seed is not None else ()), None)
    try:
        if request is None:
            raise BadInput("the seed suggests no request: give one", field="REQUEST")
        return await runtime.subject_on(thread, request), True
    except BadInput:
        await runtime.store.delete_thread(thread)
        raise


def _spec(asked: Asked, subject: Subject) -> SweepSpec:
    from runtime.experiments import SweepSpec, read_enough
    from runtime.subject import Changes

    return SweepSpec(
        asked.windows,
        asked.models,
        asked.agents,
        asked.repeat,
        read_enough(asked.enough, at_least=asked.at_least),
        asked.smallest,
        Changes(asked.tools or subject.tools, asked.drop),
        asked.concurrency,
    )


def _around(spec: SweepSpec, found: Sweep, subject: Subject) -> AblateSpec:
    """Leaving one out at the smallest window that is enough, else at the one of the turn or agent."""
    from runtime.experiments import AblateSpec

    window = found.smallest_sufficient
    return AblateSpec(
        subject.window if window is None else window,
        repeats=spec.repeats,
        enough=spec.enough,
        changes=spec.changes,
        variant=found.cells[0].variant,
        concurrency=spec.concurrency,
    )


E = TypeVar("E", "Sweep", "Ablation")


async def stoppable(work: Callable[[Callable[[E], None]], Coroutine[object, object, E]]) -> E:
    """What an experiment found; Ctrl-C stops it and gives what is done. On a terminal its progress is told."""
    last: list[E] = []
    seen = sys.stderr.isatty()

    def told(state: E) -> None:
        last[:] = [state]
        if seen:
            sys.stderr.write(f"\r{state.done} of {state.total} runs" + ("" if state.state == "running" else "\n"))
            sys.stderr.flush()

    task = asyncio.ensure_future(work(told))

    def stop() -> None:
        task.cancel()

    with interrupts(stop):
        try:
            return await task
        except asyncio.CancelledError:
            if last and last[0].state == "stopped":
                return last[0]
            raise KeyboardInterrupt from None


def _write(csv: str | None, markdown: str | None, found: Sweep | Ablation) -> None:
    from runtime.experiments import Sweep, ablation_csv, ablation_markdown, sweep_csv, sweep_markdown
    from studio_tui.cli.export import write

    if csv is not None:
        write(Path(csv), sweep_csv(found) if isinstance(found, Sweep) else ablation_csv(found))
    if markdown is not None:
        write(Path(markdown), sweep_markdown(found) if isinstance(found, Sweep) else ablation_markdown(found))


async def _opened(runtime: Runtime, id: str, csv: str | None, markdown: str | None, as_json: bool) -> int:
    """Show what is kept under an id; nothing is run."""
    from runtime.experiments import ablation_json, open_ablation, open_sweep, sweep_json
    from studio_tui.cli import sweep_text

    if (await runtime.store.experiment(id)).kind == "ablation":
        left_out = await open_ablation(runtime, id)
        _write(csv, markdown, left_out)
        if as_json:
            print_json(ablation_json(left_out))
        else:
            print_text("\n".join(sweep_text.lines_without(left_out)))
        return 0 if left_out.verdict is not None else 1
    found = await open_sweep(runtime, id)
    _write(csv, markdown, found)
    if as_json:
        print_json(sweep_json(found))
    else:
        print_text("\n".join(sweep_text.lines_of(found)))
    return _status(found)


def _json(found: Sweep, ablation: Ablation | None) -> dict[str, Json]:
    from runtime.experiments import ablation_json, sweep_json

    value = sweep_json(found)
    return value if ablation is None else {**value, "without": ablation_json(ablation)}
