"""The two colour themes. Nothing on the screen is said by colour alone: marks and words say it too (C87)."""

from __future__ import annotations

import os

from textual.theme import Theme

DARK = Theme(
    name="studio-dark",
    dark=True,
    primary="#7aa2d6",
    secondary="#8fb48f",
    accent="#d9a658",
    foreground="#d8dce2",
    background="#14171c",
    surface="#1a1e25",
    panel="#222832",
    success="#83b57a",
    warning="#d9a658",
    error="#e07a72",
    variables={
        "border": "#3a4350",
        "border-blurred": "#3a4350",
        "block-cursor-background": "#2f4766",
        "block-cursor-foreground": "#ffffff",
        "block-cursor-text-style": "none",
        "input-selection-background": "#35577f",
        "footer-key-foreground": "#d9a658",
    },
)

LIGHT = Theme(
    name="studio-light",
    dark=False,
    primary="#1f5fa8",
    secondary="#3c6e3c",
    accent="#8f5a00",
    foreground="#1d2127",
    background="#fbfaf7",
    surface="#f4f2ed",
    panel="#e8e5de",
    success="#2d6b2d",
    warning="#8f5a00",
    error="#b02a22",
    variables={
        "border": "#b9b4a8",
        "border-blurred": "#b9b4a8",
        "block-cursor-background": "#c7dcf5",
        "block-cursor-foreground": "#10151b",
        "block-cursor-text-style": "none",
        "input-selection-background": "#b5d2f3",
        "footer-key-foreground": "#8f5a00",
    },
)

THEMES = (DARK, LIGHT)


def wanted() -> str:
    """The theme to begin with: `$STUDIO_THEME` (`dark` or `light`), else what the terminal says of itself, else dark.

    Terminals that tell do so by `$COLORFGBG`: `foreground;background`, where 7 and 9 to 15 are light backgrounds.
    """
    asked = os.environ.get("STUDIO_THEME", "")
    if asked in ("dark", "light"):
        return f"studio-{asked}"
    background = os.environ.get("COLORFGBG", "").rpartition(";")[2]
    light = background.isdigit() and (int(background) == 7 or int(background) > 8)
    return LIGHT.name if light else DARK.name


def other(name: str) -> str:
    """The theme that is not `name`."""
    return LIGHT.name if name == DARK.name else DARK.name
