"""The errors a caller of the runtime can meet, all below one root.

    StudioError
    ├── BadInput              a file, field or argument that cannot be used: file, line, field, problem
    │   └── ConfigurationError    agents, tools or models that do not fit together
    ├── UnknownThread         no thread has exactly this id (S4)
    ├── UnknownTurn           no turn has exactly this id
    ├── UnknownExperiment     no experiment has exactly this id
    ├── ThreadBusy            a root turn is already running on the thread (S7)
    ├── ForksRemain           a thread that forks refer to cannot go alone (S9)
    ├── StoreError            the store could not read or write
    ├── ModelError            one tier failed: status and the server's own words (M2)
    ├── FitOverflow           the complete request would not fit the tier about to be called (F1)
    └── ToolError             raised by a tool to tell the model what was wrong (T4)

A turn that fails is a record, not an exception: `send` returns it with `status` and `reason`.
`ModelError`, `FitOverflow` and `ToolError` are met by people who write adapters and tools.
"""

from __future__ import annotations

from collections.abc import Mapping


class StudioError(Exception):
    """The root. Its text is one sentence that a user can act on."""


class BadInput(StudioError):
    """Input that cannot be used (Q1). `line` and `column` count from 1; empty parts are left out of the text."""

    def __init__(
        self, problem: str, *, file: str = "", line: int | None = None, column: int | None = None, field: str = ""
    ) -> None:
        self.problem, self.file, self.line, self.column, self.field = problem, file, line, column, field
        super().__init__(problem)

    def __str__(self) -> str:
        place = self.file
        if self.line is not None:
            place = f"{place}:{self.line}" if place else f"line {self.line}"
        return ": ".join(part for part in (place, self.field, self.problem) if part)


class ConfigurationError(BadInput):
    """Agents, tools or models that do not fit together: an unknown name, a circle of delegates (T8)."""


class UnknownThread(StudioError):
    """No thread has exactly this id, whatever the window asked for (S4)."""

    def __init__(self, thread: str) -> None:
        self.thread = thread
        super().__init__(f"unknown thread {thread!r}")


class UnknownTurn(StudioError):
    """No turn has exactly this id."""

    def __init__(self, turn: str) -> None:
        self.turn = turn
        super().__init__(f"unknown turn {turn!r}")


class UnknownExperiment(StudioError):
    """No experiment has exactly this id."""

    def __init__(self, experiment: str) -> None:
        self.experiment = experiment
        super().__init__(f"unknown experiment {experiment!r}")


class ThreadBusy(StudioError):
    """A root turn is running on the thread; nothing was written for the second one (S7)."""

    def __init__(self, thread: str, turn: str, owner: str = "") -> None:
        self.thread, self.turn, self.owner = thread, turn, owner
        by = f" (by {owner})" if owner else ""
        super().__init__(f"thread {thread} is busy: turn {turn} is running{by}; stop it or wait for it")


class ForksRemain(StudioError):
    """The thread has forks that read its rows; delete it together with them (S9)."""

    def __init__(self, thread: str, forks: tuple[str, ...]) -> None:
        self.thread, self.forks = thread, forks
        super().__init__(f"thread {thread} is the base of {', '.join(forks)}; delete them too (--with-forks)")


class StoreError(StudioError):
    """The store could not read or write; the text names the store and what it said."""


class ModelError(StudioError):
    """One tier failed (M2).

    `kind` says how: `connection`, `timeout`, `status`, `malformed` (a reply that is not the dialect, or that the
    adapter failed on), `cut-off` (a stream without its closing marker, M3) or `server` (an error inside a stream).
    `status` is the HTTP status or None; `retry_after` is in seconds, None if the server named no time.
    `configuration` is true for the statuses that mean a wrong key, model or request (400, 401, 403, 404, 422).
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "connection",
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        self.message, self.kind, self.status, self.retry_after = message, kind, status, retry_after
        super().__init__(message)

    @property
    def configuration(self) -> bool:
        return self.status in (400, 401, 403, 404, 422)


class FitOverflow(StudioError):
    """The estimate plus the reserve is over the limit of the tier about to be called (F1). All counts in tokens."""

    def __init__(self, *, estimate: int, reserve: int, limit: int, parts: Mapping[str, int]) -> None:
        self.estimate, self.reserve, self.limit, self.parts = estimate, reserve, limit, dict(parts)
        largest = ", ".join(f"{name} {count}" for name, count in sorted(parts.items(), key=lambda p: -p[1]) if count)
        super().__init__(
            f"the request is estimated at {estimate} tokens and {reserve} are kept for the answer: "
            f"{estimate + reserve} of {limit} ({largest})"
        )


class ToolError(StudioError):
    """Raised by a tool to give the model an error result in the tool's own words (T4)."""
