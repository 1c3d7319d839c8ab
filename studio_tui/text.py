"""The one door for text that is not ours: what passes it is drawn character for character and never acts (Q2).

Our widgets take `Content`; a bare `str` given to Textual would be read as markup.
"""

from __future__ import annotations

from textual.content import Content

from studio_tui.visible import visible


def safe(text: str, style: str = "") -> Content:
    """`text` as content without markup, controls drawn as stand-ins; `style` is one of ours, never foreign text."""
    content = Content(visible(text), strip_control_codes=False)
    return content.stylize(style) if style else content


def safe_line(text: str, style: str = "") -> Content:
    """The same on one line, for titles, notifications and cells: line ends are drawn as a return arrow, tabs as one
    blank."""
    return safe(text.replace("\r\n", "\n").replace("\n", RETURN).replace("\t", " "), style)


RETURN = "\u21b5"
"""Drawn for a newline where there is room for one line only."""
