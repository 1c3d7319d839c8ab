"""Copying through the terminal (OSC 52), and words that promise no more than is known (C88)."""

from __future__ import annotations

import os

LARGEST = 74_000
"""Bytes beyond which many terminals drop an OSC 52 text silently."""


def reaches(size: int) -> bool:
    """Whether a text of `size` bytes is likely to arrive in the clipboard of common terminals."""
    return size <= LARGEST


def told(what: str, size: int) -> str:
    """What can honestly be said after `size` bytes of `what` were handed to the terminal."""
    if not reaches(size):
        return f"{what} is {size:,} bytes: most terminals take no more than {LARGEST:,}; Y saves it to a file"
    if os.environ.get("TMUX"):
        return f"{what} was handed to tmux; it reaches the clipboard if tmux's set-clipboard is on (else Y saves it)"
    if os.environ.get("STY"):
        return f"{what} was handed to screen, which may not pass it on; Y saves it to a file"
    return f"copied {what}, if this terminal allows it (OSC 52); Y saves it to a file"


def as_sent(text: str) -> str:
    """The text as a terminal can be sent it: half of a surrogate pair, which no encoding has, becomes U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
