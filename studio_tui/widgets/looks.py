"""How the styles that views name look in the theme in force. None says by colour alone what no word or mark says."""

from __future__ import annotations

LOOKS: dict[str, str] = {
    "text": "color: $foreground;",
    "muted": "color: $text-muted;",
    "role-user": "color: $text-primary; text-style: bold;",
    "role-assistant": "color: $text-success;",
    "role-tool": "color: $text-accent;",
    "role-system": "color: $text-secondary; text-style: italic;",
    "reason": "color: $text-muted; text-style: italic;",
    "warning": "color: $text-warning;",
    "error": "color: $text-error; text-style: bold;",
    "ok": "color: $text-success; text-style: bold;",
    "what-if": "color: $text-accent; text-style: bold;",
    "ruler": "color: $text-muted;",
    "number": "color: $text-muted;",
    "key": "color: $text-accent;",
    "title": "color: $foreground; text-style: bold;",
    "mark": "color: $text-warning; text-style: bold;",
    "hit": "color: $text-warning; text-style: bold underline reverse;",
    "gutter": "color: $text-primary; text-style: bold;",
    "cursor": "background: $block-cursor-background;",
    "cursor-away": "background: $panel;",
    "marked": "background: $input-selection-background;",
}
"""Style names of `studio_tui.views.lines`, and five of the pane itself, as rules of Textual CSS."""

CSS = (
    """
LinesPane {
    background: $surface;
    color: $foreground;
    border: round $border-blurred;
    border-title-color: $foreground;
    border-title-style: none;
    overflow-x: hidden;
    overflow-y: auto;
    scrollbar-gutter: stable;
    scrollbar-size-vertical: 1;
    scrollbar-background: $surface;
    scrollbar-background-hover: $surface;
    scrollbar-background-active: $surface;
    scrollbar-color: $border;
    scrollbar-color-hover: $primary;
    scrollbar-color-active: $primary;
    scrollbar-corner-color: $surface;
    &:focus {
        border: heavy $primary;
        border-title-style: bold;
    }
"""
    + "".join(f"    & > .lines--{name} {{ {rules} }}\n" for name, rules in LOOKS.items())
    + "}\n"
)
