"""Explaining a turn: the ledger of its thread, why a message is in or out, what another window would do (X).

Pure functions on records and rows: nothing here reads a store or runs a model.
"""

from __future__ import annotations

from runtime.explain.accounts import Account, InContext, LeftOutRows, NeverStored, ledger
from runtime.explain.after import NextSees, StateChange, answer_repeats, next_sees, repetition, state_changed_since
from runtime.explain.curl import curl_command
from runtime.explain.finding import finding
from runtime.explain.search import only, saying
from runtime.explain.usage import estimate_ratio, off_by, ratio_of
from runtime.explain.why import Finding, why
from runtime.explain.windows import (
    WhatIf,
    overflow_words,
    since,
    to_blame,
    what_if,
    window_cannot_help,
    window_that_fits,
)
from runtime.explain.words import (
    LEFT_OUT_WORDS,
    UNSTORED_WORDS,
    quoted,
    ranges,
    settlement,
    turn_name,
    window_words,
)

__all__ = [
    "LEFT_OUT_WORDS",
    "UNSTORED_WORDS",
    "Account",
    "Finding",
    "InContext",
    "LeftOutRows",
    "NeverStored",
    "NextSees",
    "StateChange",
    "WhatIf",
    "answer_repeats",
    "curl_command",
    "estimate_ratio",
    "finding",
    "ledger",
    "next_sees",
    "off_by",
    "only",
    "overflow_words",
    "quoted",
    "ranges",
    "ratio_of",
    "repetition",
    "saying",
    "settlement",
    "since",
    "state_changed_since",
    "to_blame",
    "turn_name",
    "what_if",
    "why",
    "window_cannot_help",
    "window_that_fits",
    "window_words",
]
