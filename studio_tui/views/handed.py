"""What the handoff screen shows, as one frozen value; every text in it is masked already (Q3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from runtime.abl.history_setting import HistorySetting, InForce
from runtime.abl.project import Route
from runtime.handoff.events import HandoffEvent, ThreadResume
from runtime.handoff.strategy import Copying, place_of
from runtime.history import in_units
from runtime.values.diagnostic import Diagnostic
from runtime.values.messages import Message, Row, calls_of
from runtime.values.record import LeftOutReason, TurnRecord

PRIVATE = ("pin", "password", "passcode", "secret", "cvv", "cvc", "ssn", "iban", "token", "passport", "card_number")
"""Words in a field's name that speak of something nobody else should read."""


@dataclass(frozen=True, slots=True)
class Gathered:
    """A value that the customer gave to the caller, or to a child it lent the conversation to.

    `agent` gathered it, `place` is where its GATHER field is declared. `rows` are the caller's rows, and `elsewhere`
    how many rows of its children, that hold it and were copied; `passed_at` is where PASS names it, empty if it was
    not passed.
    """

    name: str
    value: str
    agent: str
    place: str
    sensitive: bool
    rows: tuple[int, ...] = ()
    elsewhere: int = 0
    passed_at: str = ""

    @property
    def private(self) -> bool:
        """Marked SENSITIVE, or named like something that should be."""
        words = self.name.lower().replace("-", "_")
        return self.sensitive or any(word in words.split("_") or word == words for word in PRIVATE)

    @property
    def got_through(self) -> bool:
        """Whether the target reads it, in a copied message or as a value."""
        return bool(self.rows or self.elsewhere or self.passed_at)


@dataclass(frozen=True, slots=True)
class Joined:
    """A customer message that an earlier child handled and `full` added; `agent` is the child's (H2)."""

    agent: str
    row: Message


@dataclass(frozen=True, slots=True)
class Tried:
    """What another HISTORY would have copied: `written` as one would write it. Nothing of it was sent (X3)."""

    written: str
    force: InForce
    copying: Copying


@dataclass(frozen=True, slots=True)
class Answers:
    """What the two sides said when asked the same; None where that was not run, `problem` why it cannot be.

    `calls` are the model calls and `remote` the calls to other houses that running the other side would make.
    """

    question: str
    in_force: str | None = None
    what_if: str | None = None
    what_if_name: str = ""
    problem: str = ""
    messages: int = 0
    calls: int = 0
    remote: int = 0


@dataclass(frozen=True)
class Shown:
    """One handoff, or one resumed thread, with all that explains it.

    `rows` are the caller's rows as the handoff found them, `agents` names agents by thread. `first` is the target's
    first turn, None before it was assembled and of a remote target. `route` is None if the project's files no longer
    have it. `problems` are the diagnostics about the route's HISTORY.
    """

    event: HandoffEvent | ThreadResume
    rows: tuple[Row, ...] = ()
    agents: Mapping[str, str] = field(default_factory=dict)
    joined: tuple[Joined, ...] = ()
    first: TurnRecord | None = None
    route: Route | None = None
    problems: tuple[Diagnostic, ...] = ()
    default: HistorySetting | None = None
    gathered: tuple[Gathered, ...] = ()
    passed_at: str = ""
    summary_holds: str = ""
    tried: Tried | None = None

    @property
    def resumed(self) -> bool:
        """The target's thread was still waiting, so nothing was copied (H7)."""
        return isinstance(self.event, ThreadResume)

    @property
    def written_at(self) -> str:
        """FILE:LINE of what is to be mended: the line the compiler names, else the HISTORY; empty without one."""
        problem = next((one for one in self.problems if one.line is not None), None)
        return f"{problem.file}:{problem.line}" if problem is not None else self.event.written_at

    @property
    def mend_at(self) -> str:
        """FILE:LINE of what the finding asks to mend: the HISTORY that is not what was meant, else the line that lets a
        private value through, else the HISTORY or the route."""
        leak = next((one for one in self.gathered if one.private and one.got_through), None)
        if leak is not None and not self.problems:
            return leak.passed_at or leak.place
        return self.written_at or self.event.route

    @cached_property
    def copied(self) -> frozenset[int]:
        """The caller's rows among the copies, by seq."""
        if isinstance(self.event, ThreadResume):
            return frozenset()
        places = frozenset(self.event.rows)
        caller = self.event.caller_thread
        return frozenset(row.seq for row in self.rows if isinstance(row, Message) and place_of(caller, row) in places)

    @cached_property
    def reasons(self) -> Mapping[int, LeftOutReason]:
        """Why each of the caller's rows that stays does, by seq."""
        return {seq: left.reason for left in self.event.left_out for seq in range(left.first, left.last + 1)}

    @cached_property
    def tried_copies(self) -> frozenset[int]:
        """The caller's rows that the what-if would copy, by seq."""
        if self.tried is None:
            return frozenset()
        pairs = zip(self.tried.copying.kept, self.tried.copying.threads, strict=True)
        return frozenset(row.seq for row, thread in pairs if thread == self.event.caller_thread)

    @cached_property
    def brackets(self) -> Mapping[int, str]:
        """How the rows of units of two and more are held together, by seq (H3)."""
        found: dict[int, str] = {}
        for unit in in_units(self.rows):
            if len(unit) > 1:
                found.update({row.seq: "│" for row in unit[1:-1]})
                found[unit[0].seq], found[unit[-1].seq] = "┌", "└"
        return found

    @property
    def sent(self) -> int | None:
        """Earlier messages in the target's first model call; None if there was none here."""
        return None if self.first is None or self.first.context is None else len(self.first.context.rows)


def row_text(row: Row) -> str:
    """A row on one line: `→ lookup({"id": 1})` for calls without words, `← result` for a tool's."""
    if not isinstance(row, Message):
        return f"cannot be read: {row.problem}"
    if row.role == "tool":
        return f"← {row.text}"
    calls = ", ".join(_call(part) for part in calls_of(row.parts))
    return " ".join(part for part in (row.text, f"→ {calls}" if calls else "") if part)


def _call(part: Mapping[str, object]) -> str:
    arguments = part.get("arguments")
    inside = ", ".join(str(value) for value in arguments.values()) if isinstance(arguments, Mapping) else str(arguments)
    return f"{part.get('name')}({inside})"
