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

_ABL, _MANIFEST = ".agent.abl", "project.json"


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@options.as_json
def command(paths: tuple[str, ...], as_json: bool) -> int:
    """Check seeds, agent files and ABL: files, project folders, and of any other folder all that lies below it.

    Exit status 1 if there is an error; warnings alone leave it 0.

    \b
    Example: studio-tui check seeds/
    """
    targets = list(targets_of(paths))
    found = [diagnostic for target in targets for diagnostic in _checked(target)]
    errors, warnings = (sum(one.severity == severity for one in found) for severity in ("error", "warning"))
    if as_json:
        print_json({"diagnostics": [_json(one) for one in found], "errors": errors, "warnings": warnings})
    else:
        for one in found:
            print_text("\n".join(_lines(one)))
        from runtime.explain.words import plural

        tell(f"{plural(len(targets), 'file')}: {plural(errors, 'error')}, {plural(warnings, 'warning')}")
    return 1 if errors else 0


def targets_of(paths: Sequence[str]) -> Iterator[Path]:
    """What is to be checked, each once: YAML files, ABL files, and project folders as a whole. Raises BadInput."""
    seen: set[Path] = set()
    for name in paths:
        path = Path(name)
        if not path.exists():
            raise BadInput("there is no such file or folder", file=name)
        inside = [*_projects(path), *_yaml_files(path)] if path.is_dir() else [path]
        if not inside:
            raise BadInput("holds no .yaml, .yml or .agent.abl file", file=name)
        for one in inside:
            if one.resolve() not in seen:
                seen.add(one.resolve())
                yield one


def yaml_files(folder: str) -> list[Path]:
    """The YAML files below a folder, sorted. Raises BadInput if there are none."""
    found = _yaml_files(Path(folder))
    if not found:
        raise BadInput("holds no .yaml or .yml file", file=folder)
    return found


def _yaml_files(folder: Path) -> list[Path]:
    return sorted(one for one in folder.rglob("*") if one.suffix.lower() in (".yaml", ".yml") and one.is_file())


def _projects(folder: Path) -> list[Path]:
    """The ABL projects in a folder: those with a project.json of their own, else the folder itself."""
    agents = [one for one in folder.rglob(f"*{_ABL}") if one.is_file()]
    if not agents:
        return []
    roots = sorted({one.parent for one in folder.rglob(_MANIFEST)})
    if folder in roots or not roots:
        return [folder]
    alone = [one for one in sorted(agents) if not any(root in one.parents for root in roots)]
    return [*roots, *alone]


def _checked(target: Path) -> list[Diagnostic]:
    if target.is_dir() or target.name.endswith(_ABL) or target.name == _MANIFEST:
        from runtime import abl

        return abl.check([target])
    from runtime.seeds import check_file

    return check_file(target)


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
