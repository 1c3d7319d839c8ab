"""Tools: Python functions that a model may call (T9).

    @tool
    def set_colour(colour: Literal["red", "blue"], state: State) -> dict[str, str]:
        \"\"\"Choose the colour.

        Args:
            colour: which one.
        \"\"\"

`set_colour` is offered as `set-colour`; its schema comes from the signature and the docstring.
"""

from __future__ import annotations

from runtime.tools.calling import Outcome, call, unknown_tool
from runtime.tools.definition import Tool, by_name, tool
from runtime.tools.loading import is_reference, load
from runtime.tools.shipped import shipped
from runtime.tools.state import State

__all__ = ["Outcome", "State", "Tool", "by_name", "call", "is_reference", "load", "shipped", "tool", "unknown_tool"]
