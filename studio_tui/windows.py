"""The values of the window bar and the steps between them; what a window means is said by `runtime.explain` (X3)."""

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


def in_short(words: str) -> str:
    """The words of `runtime.explain.window_words` for a narrow screen: `3 = the request + 2 before it`."""
    return (
        words.replace("+ the message before", "+ 1 before")
        .replace("+ the ", "+ ")
        .replace(" messages before", " before")
    )


def shown(window: Window, *, limit: int = 12) -> str:
    """A window as the bar writes it; a number of more than `limit` digits is cut in the middle."""
    text = str(window)
    return text if len(text) <= limit else f"{text[: limit - 4]}…{text[-3:]}"


def _less(one: Window, other: Window) -> bool:
    if one == "all":
        return False
    return other == "all" or one < other
