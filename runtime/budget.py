"""The work granted to a turn, and what is left of it (T7). A child spends its parent's budget too (T8)."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.values.agent import Budget, BudgetName


@dataclass(slots=True)
class Spending:
    """What a turn has used of its `granted` budget. `deadline` is in the event loop's clock, in seconds.

    Whatever is spent is spent from `parent` too, so that a child stays inside what is left of its parent's.
    """

    granted: Budget
    started: float
    parent: Spending | None = None
    steps: int = 0
    tool_calls: int = 0
    tokens: int = 0
    deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self.deadline = self.started + self.granted.seconds
        if self.parent is not None:
            self.deadline = min(self.deadline, self.parent.deadline)

    def before_step(self, now: float) -> BudgetName | None:
        """What has run out before one more model call, None if it may be made."""
        if self.steps >= self.granted.steps:
            return "steps"
        if self.tokens >= self.granted.tokens:
            return "tokens"
        if now >= self.deadline:
            return "seconds"
        return self.parent.before_step(now) if self.parent else None

    def before_calls(self, count: int, now: float) -> BudgetName | None:
        """What would be exceeded by a group of `count` calls, None if it may run."""
        if self.tool_calls + count > self.granted.tool_calls:
            return "tool-calls"
        if now >= self.deadline:
            return "seconds"
        return self.parent.before_calls(count, now) if self.parent else None

    def spend(self, *, steps: int = 0, tool_calls: int = 0, tokens: int = 0) -> None:
        """Take work from this budget and from every budget above it. Tokens: reported usage, else the estimate."""
        self.steps += steps
        self.tool_calls += tool_calls
        self.tokens += tokens
        if self.parent is not None:
            self.parent.spend(steps=steps, tool_calls=tool_calls, tokens=tokens)
