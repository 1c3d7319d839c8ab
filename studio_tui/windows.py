"""The values of the window bar, the steps between them, and what a window means in words (X3)."""

from __future__ import annotations

from runtime.values.messages import Window

LADDER: tuple[Window, ...] = (0, 1, 2, 3, 4, 5, 6, 8, 12, "all")


def ladder(*others: Window | None) -> tuple[Window, ...]:
    """The values on the bar: the usual ones and `others` in their places, smallest first, `all` last."""
    counts = {value for value in (*LADDER, *others) if isinstance(value, int)}
    return (*sorted(counts), "all")


def smaller(window: Window, *, among: tuple[Window, ...] = LADDER) -> Window:
    """The next smaller value of the bar; the smallest stays."""
    below = [value for value in among if value != "all" and _less(value, window)]
    return below[-1] if below else among[0]


def larger(window: Window, *, among: tuple[Window, ...] = LADDER) -> Window:
    """The next larger value of the bar; `all` stays."""
    above = [value for value in among if _less(window, value)]
    return above[0] if above else "all"


def same(one: Window, other: Window) -> bool:
    """Whether two windows are the same one; every window of 0 or less is none (S3)."""
    return one == other or (isinstance(one, int) and isinstance(other, int) and one <= 0 and other <= 0)


def in_words(window: Window, stored: int, *, request: bool = True, brief: bool = False) -> str:
    """What a window means here: "3 = the request + the 2 messages before it".

    `stored` counts the rows among which is selected, the request's too if it is one (`request`). `brief` says it
    shorter, for narrow screens.
    """
    number = shown(window)
    before = max(stored - 1, 0) if request else stored
    if window == "all" or window >= stored:
        return f"{number} = {_everything(stored, before, request=request)}"
    if window <= 0:
        alone = "" if brief or not request else ": the request alone"
        return f"{number} = no stored messages{alone}"
    if not request:
        return f"{number} = the newest {_messages(window)}"
    if window == 1:
        return f"{number} = the request alone, as the newest message"
    earlier = window - 1
    if brief:
        return f"{number} = the request + {earlier:,} before it"
    return f"{number} = the request + the {_messages(earlier)} before it"


def shown(window: Window, *, limit: int = 12) -> str:
    """A window as the bar writes it; a number of more than `limit` digits is cut in the middle."""
    text = str(window)
    return text if len(text) <= limit else f"{text[: limit - 4]}…{text[-3:]}"


def _everything(stored: int, before: int, *, request: bool) -> str:
    if stored == 0:
        return "all of nothing: the thread is empty"
    if request and before == 0:
        return "everything: the request alone"
    if request:
        return f"everything: the request + all {_messages(before)} before it"
    return f"everything: all {_messages(stored)}"


def _messages(count: int) -> str:
    return "message" if count == 1 else f"{count:,} messages"


def _less(one: Window, other: Window) -> bool:
    if one == "all":
        return False
    return other == "all" or one < other
