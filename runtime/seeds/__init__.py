"""Seed files: a fresh thread's rows and state under control, with an agent, a script and what is expected (DESIGN).

Read strictly, every error with file, line and field. A seed is named (a shipped one) or given as a path.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container
from pathlib import Path

from runtime.agents import agents_beside, check_agent
from runtime.errors import BadInput
from runtime.fields import Problems, nearest
from runtime.files import decoded, inside, parse, read_bytes, shipped_folder
from runtime.seeds.reading import Source, looks_like_agent, read_seed
from runtime.seeds.writing import seed_yaml
from runtime.values.diagnostic import Diagnostic
from runtime.values.seed import Seed

__all__ = [
    "check_file", "find_seed", "load_seed", "parse_seed", "seed_yaml", "shipped_seed", "shipped_seed_names",
    "shipped_seeds",
]  # fmt: skip


def find_seed(name_or_path: str, *, known: Container[str] = ()) -> Seed:
    """The shipped seed of this name, else the seed in this file. Raises BadInput.

    `known` are names of agents that need no file of their own.
    """
    if name_or_path in shipped_seed_names():
        return shipped_seed(name_or_path)
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml") and "/" not in name_or_path and not _is_there(path):
        meant = nearest(name_or_path, shipped_seed_names())
        hint = f"did you mean {meant}?" if meant else f"shipped are {', '.join(shipped_seed_names())}"
        raise BadInput(f"there is no seed and no file {name_or_path!r}; {hint}")
    return load_seed(path, known=known)


def load_seed(path: str | Path, *, known: Container[str] = ()) -> Seed:
    """The seed in a file. Raises BadInput with file, line and field for the first thing that is wrong."""
    return _loaded(Path(path), known, shipped=False)


def parse_seed(text: str, *, file: str = "-", folder: Path | None = None, known: Container[str] = ()) -> Seed:
    """The seed in a text, as from standard input; its agents are found in `folder` (None: here). Raises BadInput."""
    problems = Problems(file)
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    seed = read_seed(parse(text, file=file), problems, Source("", digest, agents_beside(folder or Path()), known))
    problems.raise_first()
    return seed


def shipped_seed(name: str) -> Seed:
    """The seed of this name that comes with the program; no other is read. Raises BadInput if there is none."""
    if name not in shipped_seed_names():
        raise BadInput(f"there is no shipped seed {name!r}; there are {', '.join(shipped_seed_names())}")
    return _loaded(inside(shipped_folder(), name, ".yaml"), (), shipped=True)


def shipped_seed_names() -> list[str]:
    """The names of the shipped seeds, sorted; nothing is read."""
    return sorted(path.stem for path in shipped_folder().glob("*.yaml"))


def shipped_seeds() -> list[Seed]:
    """Every shipped seed, read, by name: for the picker and `studio-tui seeds`."""
    return [shipped_seed(name) for name in shipped_seed_names()]


def check_file(path: str | Path) -> list[Diagnostic]:
    """Every problem of a seed or agent file, by its place, as `studio-tui check` lists them."""
    problems = Problems(str(path))
    try:
        content = read_bytes(Path(path))
        root = parse(decoded(content, str(path)), file=str(path))
        if looks_like_agent(root):
            return _in_order(check_agent(path))
        find = agents_beside(Path(path).parent, skip=Path(path))
        read_seed(root, problems, Source(str(path), "", find, thorough=True))
    except BadInput as error:
        problems.refuse(error, "S100")
    return _in_order(problems.found)


def _loaded(path: Path, known: Container[str], *, shipped: bool) -> Seed:
    problems = Problems(str(path))
    content = read_bytes(path)
    source = Source(
        file=str(path.absolute()),
        digest=hashlib.sha256(content).hexdigest(),
        find=agents_beside(path.parent, skip=path),
        known=known,
        shipped=shipped,
    )
    seed = read_seed(parse(decoded(content, str(path)), file=str(path)), problems, source)
    problems.raise_first()
    return seed


def _in_order(found: list[Diagnostic]) -> list[Diagnostic]:
    return sorted(found, key=lambda one: (one.file, one.line or 0, one.column or 0))


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
