"""An engine that can say, for every message of a thread, why it is or is not in front of the model.

    from runtime import Runtime, open_store, NewMessage

Names are loaded when first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from runtime.errors import StudioError as StudioError
    from runtime.stores import Threads as Threads
    from runtime.stores import open_store as open_store
    from runtime.threads import Runtime as Runtime
    from runtime.tools import State as State
    from runtime.tools import tool as tool
    from runtime.values.agent import Agent as Agent
    from runtime.values.messages import Message as Message
    from runtime.values.messages import NewMessage as NewMessage
    from runtime.values.record import TurnRecord as TurnRecord

_HOMES = {
    "Agent": "runtime.values.agent",
    "Message": "runtime.values.messages",
    "NewMessage": "runtime.values.messages",
    "Runtime": "runtime.threads",
    "State": "runtime.tools",
    "StudioError": "runtime.errors",
    "Threads": "runtime.stores",
    "TurnRecord": "runtime.values.record",
    "open_store": "runtime.stores",
    "tool": "runtime.tools",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'runtime' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
