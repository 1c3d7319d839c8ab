"""`set-tone`: a tool that changes the state, so that the state view of the next turn reads differently (A5)."""

from __future__ import annotations

from typing import Literal

from runtime.tools.definition import tool
from runtime.tools.state import State


@tool(inline=True)
def set_tone(tone: Literal["brief", "neutral", "detailed"], state: State) -> dict[str, str]:
    """Choose how brief or detailed the answers are from now on.

    Args:
        tone: how the answers should be.
    """
    state.set("tone", tone)
    return {"tone": tone}
