"""`look-up-order`: finds an order among those in the thread's state."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from runtime.errors import ToolError
from runtime.tools.definition import tool
from runtime.tools.state import State
from runtime.values.json import Json

_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")


@tool(inline=True)
def look_up_order(order: str, state: State) -> Json:
    """Look up what is known of an order by its number.

    Args:
        order: the order's number, as the customer wrote it.
    """
    orders = dict(_orders(state.get("orders")))
    if not orders:
        raise ToolError("this thread's state holds no orders")
    asked = _WORD.findall(order.casefold())
    for number, details in orders.items():
        if number.casefold() in asked:
            return details
    raise ToolError(f"there is no order {order!r}")


def _orders(value: Json) -> Iterator[tuple[str, Json]]:
    """Number and details: an object of them, or a list of objects that have an `id`, `order` or `number`."""
    if isinstance(value, Mapping):
        yield from value.items()
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for entry in value:
            if isinstance(entry, Mapping):
                number = next((entry[key] for key in ("id", "order", "number") if key in entry), None)
                if number is not None:
                    yield str(number), entry
