"""`studio-tui check`: every problem of seeds and agent files, printed as compilers do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import click

from runtime.errors import BadInput
from runtime.values.diagnostic import Diagnostic
from runtime.values.json import Json
from studio_tui.cli import options
from studio_tui.cli.output import print_json, print_text, tell

_SUFFIXES = (".yaml", ".yml")


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@options.as_json
def command(paths: tuple[str, ...], as_json: bool) -> int:
    """Check seeds and agent files; of a folder, every .yaml and .yml below it.

    Exit status 1 if there is an error; warnings alone leave it 0.

    \b
    Example: studio-tui check seeds/
    """
    from runtime.seeds import check_file

    files = list(files_of(paths))
    found = [diagnostic for path in files for diagnostic in check_file(path)]
    errors, warnings = (sum(one.severity == severity for one in found) for severity in ("error", "warning"))
    if as_json:
        print_json({"diagnostics": [_json(one) for one in found], "errors": errors, "warnings": warnings})
    else:
        for one in found:
            print_text("\n".join(_lines(one)))
        from runtime.explain.words import plural

        tell(f"{plural(len(files), 'file')}: {plural(errors, 'error')}, {plural(warnings, 'warning')}")
    return 1 if errors else 0


def files_of(paths: Sequence[str]) -> Iterator[Path]:
    """The files that the paths name, each once; of a folder those below it, sorted. Raises BadInput."""
    seen: set[Path] = set()
    for name in paths:
        path = Path(name)
        if path.is_dir():
            inside = sorted(one for one in path.rglob("*") if one.suffix.lower() in _SUFFIXES and one.is_file())
            if not inside:
                raise BadInput("holds no .yaml or .yml file", file=name)
        elif path.exists():
            inside = [path]
        else:
            raise BadInput("there is no such file or folder", file=name)
        for one in inside:
            if one.resolve() not in seen:
                seen.add(one.resolve())
                yield one


def _json(one: Diagnostic) -> dict[str, Json]:
    return {
        "file": one.file,
        "line": one.line,
        "column": one.column,
        "code": one.code,
        "severity": one.severity,
        "message": _message(one),
    }


def _message(one: Diagnostic) -> str:
    return f"{one.field}: {one.message}" if one.field and one.field not in one.message else one.message


def _lines(one: Diagnostic) -> Iterator[str]:
    place = ":".join(str(part) for part in (one.file, one.line, one.column) if part is not None)
    yield f"{place}: {one.severity} {one.code}: {_message(one)}"
    source = _source_line(one.file, one.line)
    if source is None:
        return
    number = f"{one.line:>5} | "
    yield f"{number}{source}"
    if one.column is not None:
        before = source[: one.column - 1]
        yield " " * (len(number) - 2) + "| " + "".join("\t" if sign == "\t" else " " for sign in before) + "^"


def _source_line(file: str, line: int | None) -> str | None:
    lines = _source(file) if line is not None else ()
    return lines[line - 1] if line is not None and 0 < line <= len(lines) and len(lines[line - 1]) <= 400 else None


@cache
def _source(file: str) -> tuple[str, ...]:
    try:
        return tuple(Path(file).read_text(encoding="utf-8-sig", errors="replace").split("\n"))
    except OSError:
        return ()
