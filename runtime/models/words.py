"""What counts as a word for the offline model: casefolded runs of letters and digits, common words left out."""

from __future__ import annotations

import re

_COMMON = """
    a an the and or but nor so if then than of in on at to for from by with without about into onto over under as
    is are am was were be been being do does did done doing have has had having
    i me my mine we us our ours you your yours he him his she her hers it its they them their theirs
    this that these those there here what when where who whom whose which why how
    can could will would shall should may might must not no yes please just also too very any some
    tell s t d m ll re ve don doesn didn isn aren wasn weren won couldn wouldn shouldn
"""
STOP_WORDS = frozenset(_COMMON.split())
"""The published stop list of the offline model: words that are no evidence for anything."""

RUN = re.compile(r"[^\W_]+")


def word(run: str) -> str:
    """The word that a run of letters and digits is: casefolded, without one final `s`; empty for a stop word."""
    run = run.casefold()
    return "" if run in STOP_WORDS else run.removesuffix("s")


def words(text: str) -> frozenset[str]:
    """The words of `text`: never a stop word, and no word twice."""
    return frozenset(map(word, RUN.findall(text))) - {""}
