"""A seed's tree read into a `Seed`: the agent it names, its script, and what it expects."""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import get_args

from runtime.agents import Find, check_names, no_agent, read_agent, shipped_agent_names, with_delegates
from runtime.errors import BadInput, ConfigurationError
from runtime.fields import Fields, Problems, window_of
from runtime.files import Node, Table
from runtime.seeds.rows import read_call, read_rows, read_state
from runtime.values.agent import Agent
from runtime.values.messages import Window
from runtime.values.record import Reason, Status
from runtime.values.seed import Check, Expectation, ScriptEntry, Seed, When

KEYS = ("seed", "about", "agent", "state", "messages", "try", "script", "expect")
"""The keys of a seed file."""

_ENTRY = (
    "when",
    "text",
    "texts",
    "calls",
    "chunks",
    "delay",
    "fail",
    "status",
    "retryAfter",
    "truncate",
    "empty",
    "cut",
)
_EXPECT = ("request", "after", "window", "context", "answer", "calls", "status", "reason", "smallest", "sameAnswer")
STATUSES = tuple(status for status in get_args(Status) if status != "running")
REASONS: tuple[str, ...] = get_args(Reason)


@dataclass(frozen=True, slots=True)
class Source:
    """Where a seed comes from: its file as shown and as kept, its digest, and where its agents are found.

    `known` are names of agents that need no file. `thorough` notes also what loads but cannot run or is hardly meant.
    """

    file: str
    digest: str
    find: Find
    known: Container[str] = ()
    shipped: bool = False
    thorough: bool = False


def read_seed(root: Node, problems: Problems, source: Source) -> Seed:
    """The seed that a tree describes. Notes every problem."""
    fields = Fields.of(root, problems)
    name = fields.text("seed", required=isinstance(root, Table))
    if name.strip() and not name.isprintable():
        fields.wrong("seed", "S106", "a name is one line of visible characters")
    agent, agents = _agent(fields, source)
    seed = Seed(
        name=name,
        about=fields.text("about"),
        agent=agent,
        agents=agents,
        state=read_state(fields, "state"),
        messages=read_rows(fields),
        suggestions=fields.texts("try"),
        script=tuple(_entry(entry) for entry in fields.tables("script")),
        expect=tuple(_expectation(entry) for entry in fields.tables("expect")),
        file=source.file,
        digest=source.digest,
        shipped=source.shipped,
    )
    fields.done(KEYS)
    if source.thorough:
        _check_script(fields, seed)
    return seed


def _agent(fields: Fields, source: Source) -> tuple[str, dict[str, Agent]]:
    """The name of the seed's agent, and it with its delegates by name."""
    node = fields.node("agent")
    problems = fields.problems
    try:
        if isinstance(node, Table):
            before = len(problems.found)
            placed = read_agent(node, problems, path="agent", shipped=source.shipped)
            readable = all(one.severity != "error" for one in problems.found[before:])
            if source.thorough:
                check_names(placed, node, problems, "agent")
            return placed.name, with_delegates(placed, source.find) if readable else {}
        name = fields.text("agent")
        if not name or name in source.known:
            return name, {}
        found = source.find(name)
        if found is None:
            fields.wrong("agent", "S108", no_agent(name, shipped_agent_names()))
            return name, {}
        return name, with_delegates(found, source.find)
    except BadInput as error:
        if error.file:
            problems.refuse(error, "S109" if isinstance(error, ConfigurationError) else "S108")
        else:
            fields.wrong("agent", "S106", error.problem)
        return "", {}


def _entry(fields: Fields) -> ScriptEntry:
    calls = tuple(read_call(one, f"c{n}") for n, one in enumerate(fields.tables("calls"), start=1))
    chunks = fields.whole("chunks", 1, least=1)
    delay = fields.seconds("delay", 0.0)
    entry = ScriptEntry(
        when=_when(fields.inner("when")),
        text=fields.text("text"),
        texts=fields.texts("texts"),
        calls=calls,
        chunks=1 if chunks is None else chunks,
        delay=delay or 0.0,
        fail=fields.text("fail", required=True) if fields.has("fail") else None,
        status=fields.whole("status", least=100),
        retry_after=fields.seconds("retryAfter"),
        truncate=fields.flag("truncate"),
        empty=fields.flag("empty"),
        cut=fields.flag("cut"),
        line=fields.table.line,
    )
    fields.done(_ENTRY)
    _refuse_contradiction(fields, entry)
    return entry


def _refuse_contradiction(fields: Fields, entry: ScriptEntry) -> None:
    speaks = bool(entry.text or entry.texts or entry.calls)
    if entry.text and entry.texts:
        fields.wrong("texts", "S111", "takes the place of text; give only one of them")
    if entry.empty and speaks:
        fields.wrong("empty", "S111", "says nothing, so it goes with neither text nor calls")
    if not speaks and not entry.empty and entry.fail is None and not entry.cut and not entry.truncate:
        fields.problems.error(
            "S111", fields.table, fields.path, "does nothing: give text, calls or fail, or write empty: true"
        )
    for key in ("status", "retryAfter"):
        if fields.has(key) and entry.fail is None:
            fields.wrong(key, "S111", "belongs to a failure; add fail with what the server says")
    if entry.status is not None and not (400 <= entry.status <= 599 or 300 <= entry.status <= 399):
        fields.wrong("status", "S111", f"should be the HTTP status of a failure, 300 to 599, not {entry.status}")


def _when(fields: Fields | None) -> When:
    if fields is None:
        return When()
    fields.done(("turn", "step", "tier", "request", "history", "result"))
    texts = {key: fields.text(key) if fields.has(key) else None for key in ("request", "history", "result")}
    for key in texts:
        fields.node(key)
    return When(
        turn=fields.whole("turn", least=1),
        step=fields.whole("step", least=1),
        tier=fields.whole("tier", least=1),
        request=texts["request"],
        history=texts["history"],
        result=texts["result"],
    )


def _check_script(fields: Fields, seed: Seed) -> None:
    entries = fields.tables("script")
    for entry, following in zip(seed.script, entries[1:], strict=False):
        if entry.when == When():
            said = "is never reached: the entry before it has no conditions"
            fields.problems.warning("S111", following.table, following.path, said)
    agent = seed.agents.get(seed.agent)
    if agent and seed.script and all(tier.model != "script" for tier in agent.tiers):
        said = f"is heard only with --model script: the tiers of agent {agent.name} do not name it"
        fields.problems.note("info", "S111", fields.node("script"), "script", said)


def _expectation(fields: Fields) -> Expectation:
    context, answer = fields.inner("context"), fields.inner("answer")
    status = _one_of(fields, "status", STATUSES)
    expectation = Expectation(
        request=fields.text("request", required=True),
        after=fields.texts("after"),
        window=fields.window("window"),
        selected=context.whole("selected") if context else None,
        context=_check(context, ("selected", "contains", "lacks")),
        answer=_check(answer, ("contains", "lacks", "matches", "equals")),
        calls=fields.texts("calls") if fields.has("calls") else None,
        status=status,
        reason=_one_of(fields, "reason", REASONS),
        smallest=fields.window("smallest"),
        same_answer=_windows(fields, "sameAnswer"),
        line=fields.table.line,
        column=fields.table.column,
    )
    fields.done(_EXPECT)
    if expectation.reason and status not in ("failed", "cut"):
        fields.wrong("reason", "S112", "belongs to a turn that failed or was cut; say so with status")
    return expectation


def _check(fields: Fields | None, keys: tuple[str, ...]) -> Check:
    if fields is None:
        return Check()
    fields.done(keys)
    matches = fields.text("matches") if "matches" in keys and fields.has("matches") else None
    if matches is not None:
        try:
            re.compile(matches)
        except (re.error, OverflowError, RecursionError) as error:
            fields.wrong("matches", "S112", f"is no regular expression: {error}")
    equals = fields.text("equals") if "equals" in keys and fields.has("equals") else None
    return Check(fields.texts("contains"), fields.texts("lacks"), matches, equals)


def _one_of(fields: Fields, key: str, words: tuple[str, ...]) -> str | None:
    if not fields.has(key):
        return None
    word = fields.text(key)
    if word in words:
        return word
    fields.wrong(key, "S112", f"should be one of {', '.join(words)}, not {word[:40]!r}")
    return None


def _windows(fields: Fields, key: str) -> tuple[Window, ...]:
    windows = [
        window_of(node, fields.problems, f"{fields.at(key)}[{n}]") for n, node in enumerate(fields.items(key), start=1)
    ]
    found = tuple(window for window in windows if window is not None)
    if fields.has(key) and len(fields.items(key)) < 2:
        fields.wrong(key, "S112", "compares at least two windows")
    return found


def looks_like_agent(root: Node) -> bool:
    """Whether a tree is an agent file and no seed."""
    keys = root.entries.keys() if isinstance(root, Table) else set()
    return "agent" in keys and not keys & {"seed", "messages"}
