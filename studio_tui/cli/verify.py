"""`studio-tui verify`: the `expect` of seeds, run as tests; nothing is kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from runtime.errors import BadInput
from runtime.threads import Runtime
from runtime.values.json import Json
from runtime.values.seed import Seed
from studio_tui.cli import options
from studio_tui.cli.output import one_line, print_json, print_text, tell

if TYPE_CHECKING:
    from runtime.experiments.verify import Outcome


@click.command("verify")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@options.model
@options.allow_tools
@click.option("--junit", metavar="FILE", help="Write a JUnit report for a CI server.")
@options.as_json
def command(paths: tuple[str, ...], model: str | None, allow_tools: bool, junit: str | None, as_json: bool) -> int:
    """Run the `expect` of seeds, each entry on a fresh thread in memory, and tell what did not hold.

    A path is a shipped seed's name, a seed file, or a folder of them (agent files in it are passed over). Exit
    status 1 if anything did not hold.

    \b
    Example: studio-tui verify friday-notes my-seeds/ --junit report.xml
    """
    from studio_tui.cli.session import with_runtime

    seeds = _seeds(paths)
    outcomes = with_runtime(
        "memory:", lambda runtime: _verify(runtime, seeds, as_json), model=model, allow_tools=allow_tools
    )
    failed = sum(not outcome.held for outcome in outcomes)
    if as_json:
        print_json({"outcomes": [_json(one) for one in outcomes], "expected": len(outcomes), "failed": failed})
    if junit is not None:
        from studio_tui.cli.export import write
        from studio_tui.cli.junit import junit_xml

        write(Path(junit), junit_xml(outcomes))
    from runtime.explain.words import plural

    tell(f"{plural(len(seeds), 'seed')}, {plural(len(outcomes), 'expectation')}, {failed} failed")
    return 1 if failed else 0


def _seeds(paths: Sequence[str]) -> list[Seed]:
    """The seeds that the paths name. Raises BadInput for a file that cannot be used."""
    from runtime.seeds import find_seed, load_seed, shipped_seed_names
    from runtime.seeds.reading import looks_like_agent
    from studio_tui.cli.check import yaml_files

    found: list[Seed] = []
    for name in paths:
        path = Path(name)
        if not path.is_dir():
            found.append(find_seed(name) if name in shipped_seed_names() or path.exists() else _missing(name))
            continue
        from runtime.files import read_yaml

        found += [load_seed(file) for file in yaml_files(name) if not looks_like_agent(read_yaml(file))]
    return found


def _missing(name: str) -> Seed:
    raise BadInput("there is no such seed, file or folder", file=name)


async def _verify(runtime: Runtime, seeds: Sequence[Seed], as_json: bool) -> list[Outcome]:
    from runtime.experiments.verify import verify

    outcomes = []
    for seed in seeds:
        async for outcome in verify(runtime, seed):
            outcomes.append(outcome)
            if not as_json:
                print_text("\n".join(_lines(outcome)))
    return outcomes


def _lines(outcome: Outcome) -> list[str]:
    expectation = outcome.expectation
    window = "" if expectation.window is None else f" (window {expectation.window})"
    head = f"{'✔' if outcome.held else '✘'} {outcome.seed.name}{window}: {one_line(expectation.request)}"
    place = f"{outcome.seed.file}:{expectation.line}" if expectation.line else outcome.seed.file
    return [head, *(f"    {place}: {failure}" for failure in outcome.failures)]


def _json(outcome: Outcome) -> dict[str, Json]:
    expectation = outcome.expectation
    return {
        "seed": outcome.seed.name,
        "file": outcome.seed.file,
        "line": expectation.line,
        "request": expectation.request,
        "window": expectation.window,
        "held": outcome.held,
        "failures": outcome.failures,
        "seconds": outcome.seconds,
    }
