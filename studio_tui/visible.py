"""Control characters as visible stand-ins, one character for one (Q2): what is drawn in place of what must not act."""

from __future__ import annotations

import re

DELETE = "\u2421"
"""Drawn for DEL."""

C1 = "\u2426"
"""Drawn for each of the 32 C1 controls."""

BIDI = "\u21c4"
"""Drawn for a control that would turn the direction of the text around it."""

LINE = "\u2424"
"""Drawn for the line and paragraph separators U+2028 and U+2029, which break no line here."""

LOST = "\ufffd"
"""Drawn for half of a surrogate pair, which no terminal can be sent."""

_ACTING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def visible(text: str) -> str:
    """`text` with C0 (but newline and tab), DEL, C1 and bidi controls, and lone surrogates, as stand-ins.

    The result has the length of `text`, so a position in one is the same position in the other; each stand-in is one
    cell wide. Everything else, newlines and tabs too, stays as it is.
    """
    return _ACTING.sub(_stand_in, text) if _ACTING.search(text) else text


def _stand_in(found: re.Match[str]) -> str:
    code = ord(found[0])
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return DELETE
    if code < 0xA0:
        return C1
    if code in (0x2028, 0x2029):
        return LINE
    return LOST if code >= 0xD800 else BIDI
