"""Ids that a person can read aloud: lower-case Crockford base32, from the system's randomness."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from runtime.errors import StoreError

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"

_TRIES = 64


def thread_id(taken: Callable[[str], bool]) -> str:
    """A thread id of 6 characters for which `taken` is false."""
    return _fresh(6, taken)


def turn_id(taken: Callable[[str], bool]) -> str:
    """A turn id of 8 characters for which `taken` is false."""
    return _fresh(8, taken)


def experiment_id(taken: Callable[[str], bool]) -> str:
    """An experiment id of 7 characters for which `taken` is false."""
    return _fresh(7, taken)


def _fresh(length: int, taken: Callable[[str], bool]) -> str:
    for _ in range(_TRIES):
        bits = secrets.randbits(5 * length)
        made = "".join([ALPHABET[(bits >> shift) & 31] for shift in range(0, 5 * length, 5)])
        if not taken(made):
            return made
    raise StoreError(f"no free id of {length} characters was found in {_TRIES} tries")
