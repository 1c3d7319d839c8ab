"""A controlled seed: rows and state for a fresh thread, a script for the scripted model, and what to expect of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runtime.values.agent import Agent
from runtime.values.items import ToolCall
from runtime.values.json import JsonObject
from runtime.values.messages import NewMessage, Window


@dataclass(frozen=True, slots=True)
class When:
    """Conditions of a script entry; None holds always. Texts are contained, casefolded; numbers are equal.

    `turn` counts the thread's root turns, `step` the steps of a turn, `tier` the chain, each from 1.
    """

    turn: int | None = None
    step: int | None = None
    tier: int | None = None
    request: str | None = None
    history: str | None = None
    result: str | None = None


@dataclass(frozen=True, slots=True)
class ScriptEntry:
    """What the scripted model does when `when` holds: says `text` and makes `calls`, or one of the faults.

    `chunks` splits the text, `delay` is in seconds before each piece. `fail` is the failure's sentence, with `status`
    as HTTP status if given; `truncate` ends at the output limit; `empty` says nothing; `cut` ends the stream early.
    `texts`, if any, are said in turn instead of `text`, one more each time the entry answers: a model that varies.
    """

    when: When = When()
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    chunks: int = 1
    delay: float = 0.0
    fail: str | None = None
    status: int | None = None
    retry_after: float | None = None
    truncate: bool = False
    empty: bool = False
    cut: bool = False
    line: int | None = None
    texts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Check:
    """A predicate on a text, in the words of `expect`: every `contains` in it, no `lacks`, all casefolded."""

    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    matches: str | None = None
    equals: str | None = None


@dataclass(frozen=True, slots=True)
class Expectation:
    """One entry of `expect`: a request on a fresh thread of the seed, and what must hold of its record.

    `selected` is the number of rows in the context; `status` and `reason` how the turn settles (None: completed).
    """

    request: str
    window: Window | None = None
    selected: int | None = None
    context: Check = Check()
    answer: Check = Check()
    calls: tuple[str, ...] | None = None
    status: str | None = None
    reason: str | None = None
    line: int | None = None
    column: int | None = None
    after: tuple[str, ...] = ()
    """Requests sent before it on the same thread."""
    smallest: Window | None = None
    """The smallest window whose answer still holds, as a sweep finds it."""
    same_answer: tuple[Window, ...] = ()
    """Windows whose answers are the same, casefolded and with blanks folded."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A seed as read. `agents` are the agents its file resolves, by name; `digest` is the file's SHA-256 in hex."""

    name: str
    about: str
    agent: str
    agents: Mapping[str, Agent]
    state: JsonObject
    messages: tuple[NewMessage, ...]
    suggestions: tuple[str, ...] = ()
    script: tuple[ScriptEntry, ...] = ()
    expect: tuple[Expectation, ...] = ()
    file: str = ""
    digest: str = ""
    shipped: bool = False
