"""`studio-tui seeds`: the seeds that ship, each with what it teaches."""

from __future__ import annotations

import click

from studio_tui.cli import options
from studio_tui.cli.output import columns, print_json, print_text


@click.command("seeds")
@options.as_json
def command(as_json: bool) -> int:
    """List the shipped seeds, each with what it is about.

    \b
    Example: studio-tui seeds
    """
    from runtime.seeds import shipped_seeds

    seeds = shipped_seeds()
    if as_json:
        print_json(
            [
                {
                    "seed": seed.name,
                    "about": seed.about,
                    "agent": seed.agent,
                    "messages": len(seed.messages),
                    "try": seed.suggestions,
                }
                for seed in seeds
            ]
        )
    else:
        print_text("\n".join(columns([(seed.name, seed.about) for seed in seeds])))
    return 0
