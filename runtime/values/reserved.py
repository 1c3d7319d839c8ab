"""The tools that the runtime offers itself to agents written in ABL; calls of them are steps and never rows (H14)."""

from __future__ import annotations

from typing import Final

UNDERSTAND: Final = "note_understanding"
HANDOFF: Final = "handoff_to_"
"""What the name of such a tool begins with; the agent's follows."""

RETURN: Final = "return_to_caller"


def is_reserved(name: str) -> bool:
    """Whether a tool is the runtime's own: understanding, a handoff, a return (H14)."""
    return name in (UNDERSTAND, RETURN) or name.startswith(HANDOFF)
