"""A folder to a project: every `*.agent.abl` below it and `project.json`, and what only the whole can be asked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path, PurePath
from typing import Final

from runtime.abl.compiler import LARGEST, compile_text
from runtime.abl.diagnostics import Findings, below, in_order, quoted
from runtime.abl.history_setting import HistorySetting, LastN, default_setting
from runtime.abl.lines import split_lines
from runtime.abl.project import AgentSource, Project, Route
from runtime.errors import BadInput
from runtime.values.diagnostic import Diagnostic
from runtime.values.json import Json

SUFFIX: Final = ".agent.abl"
MANIFEST: Final = "project.json"
MOST_FILES: Final = 5000
"""Agent files of one project."""

_DEEPEST: Final = 64
_DEFAULT_KEY: Final = "handoffHistory"


def load_project(folder: str | Path) -> Project:
    """The project in `folder` with all its diagnostics; files are named relative to the folder.

    Raises BadInput if the folder cannot be read or holds no agent file. What is wrong inside the files is a
    diagnostic: a project with errors does not run.
    """
    root = Path(folder)
    files = _agent_files(root)
    if not files:
        raise BadInput(f"there is no *{SUFFIX} file in this folder", file=str(folder))
    reading = _Reading()
    for file in files:
        name = file.relative_to(root).as_posix()
        text = _read(file, name, reading, root)
        if text is not None:
            reading.texts[name] = text
            agent, found = compile_text(text, name)
            reading.found.extend(found)
            if agent is not None:
                reading.add(agent)
    manifest = _manifest(root / MANIFEST, reading)
    entry = manifest.get("entry_agent", manifest.get("entryAgent"))
    title = manifest.get("name")
    reading.found.extend(_linked(reading.agents, reading.texts))
    return Project(
        folder=root,
        name=title if isinstance(title, str) and title else root.resolve().name,
        agents=reading.agents,
        history_default=reading.default,
        entry=entry if isinstance(entry, str) else "",
        diagnostics=tuple(in_order(reading.found)),
    )


def check(paths: Iterable[str | Path]) -> list[Diagnostic]:
    """The diagnostics of agent files, `project.json` files and project folders, each file named as it was given.

    A file given alone is checked without its targets (E341, W342). Raises BadInput for a path that does not exist,
    cannot be read, or is none of these.
    """
    found: list[Diagnostic] = []
    for path in map(Path, paths):
        if path.is_dir():
            found.extend(below(load_project(path).diagnostics, str(path)))
        elif path.name.endswith(SUFFIX) or path.name == MANIFEST:
            found.extend(_check_file(path))
        elif path.exists():
            raise BadInput(f"a project folder, a *{SUFFIX} file or {MANIFEST} is expected here", file=str(path))
        else:
            raise BadInput("there is no such file or folder", file=str(path))
    return in_order(found)


def _check_file(path: Path) -> list[Diagnostic]:
    reading = _Reading()
    if not path.is_file():
        raise BadInput("there is no such file", file=str(path))
    if path.name == MANIFEST:
        _manifest(path, reading, str(path))
        return reading.found
    text = _read(path, str(path), reading, None)
    return reading.found if text is None else compile_text(text, str(path))[1]


@dataclass(slots=True)
class _Reading:
    """What was read so far of one project."""

    agents: dict[str, AgentSource] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    found: list[Diagnostic] = field(default_factory=list)
    default: HistorySetting | None = None

    def add(self, agent: AgentSource) -> None:
        """Take in an agent; a second one of the same name is an E346 and not part of the project."""
        first = self.agents.setdefault(agent.name, agent)
        if first is not agent:
            findings = Findings(agent.file, split_lines(self.texts[agent.file]))
            problem = f"an agent {quoted(agent.name)} stands in {first.file} too; give one of them another name"
            findings.add("E346", agent.line, 1, problem)
            self.found.extend(findings.sorted())


def _agent_files(root: Path) -> list[Path]:
    """Every agent file below `root`, by path; folders that are links are not entered."""
    found: list[Path] = []
    waiting = [(root, 0)]
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as inside:
                for one in inside:
                    if one.is_dir(follow_symlinks=False):
                        if depth < _DEEPEST:
                            waiting.append((folder / one.name, depth + 1))
                    elif one.name.endswith(SUFFIX):
                        found.append(folder / one.name)
        except OSError as problem:
            raise BadInput(f"the folder cannot be read: {problem.strerror}", file=str(folder)) from None
        if len(found) > MOST_FILES:
            raise BadInput(f"more than {MOST_FILES} agent files; name a folder of one project", file=str(root))
    return sorted(found, key=lambda path: PurePath(path).parts)


def _read(path: Path, name: str, reading: _Reading, root: Path | None) -> str | None:
    """The text of a file; what cannot be read is an E346 that names the place."""
    findings = Findings(name)
    try:
        if root is not None and not path.resolve().is_relative_to(root.resolve()):
            findings.add("E346", 1, 1, "this link leaves the project folder; put the file itself here")
        elif path.stat().st_size > 4 * LARGEST:
            findings.add("E346", 1, 1, "the file is too large for an agent; split it")
        else:
            data = path.read_bytes()
            return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        before = data[: problem.start]
        line = before.count(b"\n") + 1
        column = problem.start - (before.rfind(b"\n") + 1) + 1
        findings.add("E346", line, column, f"byte {data[problem.start]:#04x} is no UTF-8; save the file as UTF-8")
    except (OSError, RuntimeError) as problem:
        said = getattr(problem, "strerror", None) or "it is a circle of links"
        findings.add("E346", 1, 1, f"the file cannot be read: {said}")
    reading.found.extend(findings.sorted())
    return None


def _manifest(path: Path, reading: _Reading, name: str = MANIFEST) -> Mapping[str, Json]:
    """`project.json` as an object, empty if there is none; sets the project's default for HISTORY (H5)."""
    if not path.exists():
        return {}
    text = _read(path, name, reading, None)
    if text is None:
        return {}
    findings = Findings(name, split_lines(text))
    content: object = None
    try:
        content = json.loads(text)
    except json.JSONDecodeError as problem:
        findings.add("E346", problem.lineno, problem.colno, f"this is no JSON: {problem.msg}")
    except (RecursionError, ValueError):
        findings.add("E346", 1, 1, "this JSON is too deep or its numbers are too long")
    else:
        if not isinstance(content, dict):
            findings.add("E346", 1, 1, f"{MANIFEST} holds one object; write {{ at its beginning")
    manifest: Mapping[str, Json] = content if isinstance(content, dict) else {}
    if manifest.get(_DEFAULT_KEY) is not None:
        reading.default = _default(manifest[_DEFAULT_KEY], text, name, findings)
    reading.found.extend(findings.sorted())
    return manifest


def _default(value: Json, text: str, file: str, findings: Findings) -> HistorySetting:
    key = re.search(rf'"{_DEFAULT_KEY}"\s*:\s*', text)
    before = text[: key.end()] if key else ""
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    written = value if isinstance(value, str) else json.dumps(value)[:60]
    setting = default_setting(written if isinstance(value, str) else "", file, line)
    if setting.read is None:
        problem = f"{quoted(written)} is not recognised, so the default falls back to full"
        findings.add("W330", line, column, f"{problem}; write full, none, summary_only, auto or a count: last_5")
    elif setting.read == LastN(0):
        findings.add("I332", line, column, f"{quoted(written)} sends no messages; write none, which says so")
    return HistorySetting(written, file, line, setting.read, "default", column)


def _linked(agents: Mapping[str, AgentSource], texts: Mapping[str, str]) -> Iterator[Diagnostic]:
    """What only the whole project can be asked: do the targets exist (E341), can they complete (W342)."""
    for agent in agents.values():
        if not agent.routes:
            continue
        findings = Findings(agent.file, split_lines(texts[agent.file]))
        for route in agent.routes:
            if route.remote is None:
                _link(route, agents, findings)
        yield from findings.sorted()


def _link(route: Route, agents: Mapping[str, AgentSource], findings: Findings) -> None:
    target = agents.get(route.to)
    column = max(1, findings.text(route.line).find(route.to) + 1)
    if target is None:
        near = get_close_matches(route.to, list(agents), 1, 0.6)
        advice = f"write {near[0]}" if near else "add its file, or write one of " + ", ".join(sorted(agents)[:8])
        findings.add("E341", route.line, column, f"no agent of this project is named {quoted(route.to)}; {advice}")
    elif route.returns and not target.completions:
        problem = f"{quoted(route.to)} is to return but has no COMPLETE, so any answer of it returns"
        findings.add("W342", route.line, column, f"{problem}; add COMPLETE to {target.file}")
