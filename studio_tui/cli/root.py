"""The root of the command: `studio-tui` opens the Studio, `studio-tui NAME` runs one of the commands below."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple

import click


class Entry(NamedTuple):
    """Where a command lives and what it does in a line, so that `--help` loads none of them."""

    module: str
    does: str


COMMANDS = {
    "run": Entry("run", "one turn, headless"),
    "rerun": Entry("rerun", "a turn's request again, on a view of the same point"),
    "why": Entry("why", "where a message is in a turn's context, or why it is not"),
    "sweep": Entry("sweep", "one request under several windows: which is enough, and why"),
    "compare": Entry("compare", "two turns: contexts by row, steps, answers by word"),
    "check": Entry("check", "problems of seeds, agent files and ABL, with file, line and code"),
    "verify": Entry("verify", "what seeds expect of their turns; for CI"),
    "converse": Entry("converse", "a project of agents written in ABL, headless"),
    "import": Entry("import_file", "a conversation someone already has, as a thread or a seed"),
    "models": Entry("models", "the models you can name, and whether they answer"),
    "record": Entry("record", "a proxy that turns a running agent's traffic into threads"),
    "seeds": Entry("seeds", "the shipped seeds"),
    "threads": Entry("threads", "the threads of a store"),
    "show": Entry("show", "a thread or a turn, to read"),
    "export": Entry("export", "a thread as a seed or as chat messages"),
    "delete": Entry("delete", "a thread, for good"),
    "schema": Entry("schema", "the JSON Schema of a turn record, a seed or an agent file"),
}

OPEN = "open"
"""The command that opens the Studio; people leave its name out."""

_HELP = """
Explains an agent's context: per turn, why a stored message is or is not in front of the model, and what another
history window would do.

Without a command it opens the Studio, on a seed, file, folder, thread or turn if one is named:

\b
  studio-tui --seed friday-notes
  studio-tui conversation.json
  studio-tui run --seed friday-notes --window 2 --json "What is in the draft?"
"""

_EPILOG = """
To open the Studio: studio-tui [FILE|DIR|THREAD|TURN] [--seed S] [--agent A] [--window N] [--model M] [--store URL]
[--allow-tools]; studio-tui open --help says more. Exit status: 0 done, 1 what was asked for did not hold, 2 wrong usage
or bad input. --debug keeps the details of an internal error in a file.
"""


class Commands(click.Group):
    """The commands, each imported when it is called; what is none of them is opened in the Studio."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        entry = COMMANDS.get(cmd_name) or (Entry(OPEN, "the Studio") if cmd_name == OPEN else None)
        if entry is None:
            return None
        command = import_module(f"studio_tui.cli.{entry.module}").command
        assert isinstance(command, click.Command)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {*COMMANDS, OPEN, "--help", "-h", "--version"}
        return super().parse_args(ctx, args if args and args[0] in own else [OPEN, *args])

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.does) for name, entry in COMMANDS.items()])


def _version(ctx: click.Context, _parameter: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        from importlib.metadata import PackageNotFoundError, version

        try:
            known = version("studio-tui")
        except PackageNotFoundError:
            known = "from a source tree, not installed"
        click.echo(f"studio-tui {known}")
        ctx.exit()


command = Commands(
    name="studio-tui",
    help=_HELP,
    epilog=_EPILOG,
    options_metavar="",
    subcommand_metavar="[FILE|DIR|THREAD|TURN] [OPTIONS] | COMMAND ...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
    params=[
        click.Option(
            ["--version"], is_flag=True, is_eager=True, expose_value=False, callback=_version, help="Show the version."
        )
    ],
)
