"""`studio-tui schema`: the JSON Schema of what the command prints and of what people write."""

from __future__ import annotations

import click

from studio_tui.cli.output import print_json


@click.command("schema")
@click.argument("what", type=click.Choice(["turn", "seed", "agent"]))
def command(what: str) -> int:
    """Print a JSON Schema: of the turn record that --json prints, of a seed file, of an agent file.

    \b
    Example: studio-tui schema turn > turn.schema.json
    """
    if what == "turn":
        from runtime.values.record_schema import turn_schema

        print_json(turn_schema())
        return 0
    from runtime.schemas import agent_schema, seed_schema

    print_json(seed_schema() if what == "seed" else agent_schema())
    return 0
