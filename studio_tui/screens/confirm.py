"""Questions before something reaches outside: a live re-run (X4), an agent's own Python tools (T9)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from runtime.values.agent import Agent
from runtime.values.messages import Window
from runtime.values.record import TurnRecord
from studio_tui.screens.dialog import Dialog
from studio_tui.widgets.head_line import model_in_words

if TYPE_CHECKING:
    from runtime.threads import RunPlan

HERE = frozenset({"offline", "script"})
"""Models that send nothing anywhere."""


class Confirm(Dialog[bool]):
    """Yes by Enter or y, no by Esc or n."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "agree", "yes", show=False),
        Binding("n", "leave", "no", show=False),
    ]

    def __init__(self, title: str, words: str, yes: str) -> None:
        super().__init__(title, words)
        self._yes = yes

    def keys(self) -> tuple[tuple[str, str, str], ...]:
        return (("⏎", self._yes, "agree"), ("esc", "no", "leave"))

    def action_agree(self) -> None:
        self.dismiss(True)


def reaches_out(plan: RunPlan) -> bool:
    """Whether a run sends anything to a server or runs the user's own code."""
    return any(model not in HERE for model in plan.models) or bool(plan.foreign)


def what_a_run_does(plan: RunPlan, agent: Agent, record: TurnRecord, window: Window) -> str:
    """What a live re-run will execute and send where, in words (X4)."""
    upto = (record.stored_user or 1) - 1 if record.view is None else record.view.upto
    lines = [
        f"The request of turn {record.number or record.turn} runs again with window {window}, on a view of the thread "
        f"before seq {upto + 1}. The thread does not change.",
        "",
        f"Sent to: {', then '.join(model_in_words(model) for model in plan.models)}",
        f"At most {agent.budget.steps} model calls, {agent.budget.tool_calls} tool calls, "
        f"{agent.budget.seconds:g} seconds, {agent.budget.tokens:,} tokens.",
    ]
    if plan.tools:
        lines.append(f"Tools that run LIVE, on the run's own state: {', '.join(plan.tools)}")
    if plan.foreign:
        lines.append(f"Of these, your own Python code: {', '.join(plan.foreign)}")
    if plan.delegates:
        lines.append(f"Agents it may ask: {', '.join(plan.delegates)}")
    return "\n".join(lines)


def what_consent_allows(file: str, foreign: tuple[str, ...]) -> str:
    """What allowing an agent's own tools means, in words."""
    where = f"The agent file {file} names" if file else "The agent names"
    return "\n".join(
        [
            f"{where} tools that are Python code of its own:",
            *(f"  {name}" for name in foreign),
            "They run with your rights, whenever the model calls them. Allow them for this sitting?",
        ]
    )
