"""What importing costs: the engine brings in no screen, no wire and no validation until they are used."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("textual", "rich", "httpx", "pydantic", "yaml", "rapidfuzz")


@pytest.mark.parametrize("module", ["runtime", "runtime.threads", "runtime.explain", "studio_tui", "studio_tui.cli"])
def test_importing_brings_in_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_there() -> None:
    from runtime import NewMessage, Runtime, open_store, tool

    assert [one.__name__ for one in (NewMessage, Runtime, open_store, tool)] == [
        "NewMessage",
        "Runtime",
        "open_store",
        "tool",
    ]


def test_help_needs_nothing_heavy() -> None:
    code = (
        "import sys\nfrom studio_tui.cli import main\n"
        "sys.argv = ['studio-tui', '--help']\n"
        "try: main()\nexcept SystemExit: pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
