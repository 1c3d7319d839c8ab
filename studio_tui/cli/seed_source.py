"""The seed a command line names: a shipped name, a path, or `-` for one that is piped in."""

from __future__ import annotations

import sys

from runtime.errors import BadInput
from runtime.values.seed import Seed


def seed_given(seed: str | None) -> str | Seed | None:
    """What `create_thread` takes: the name or path as it is, the piped seed read. Raises BadInput."""
    if seed != "-":
        return seed
    from runtime.seeds import parse_seed

    if sys.stdin is None or sys.stdin.isatty():
        raise BadInput("`-` reads a seed from a pipe, and nothing is piped in", field="--seed")
    content = sys.stdin.buffer.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadInput(f"a seed is UTF-8, and byte {error.start + 1} is not", file="-") from None
    return parse_seed(text)
