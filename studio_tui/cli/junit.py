"""Outcomes of `verify` as JUnit XML, which CI servers read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from runtime.experiments.verify import Outcome

_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_xml(outcomes: Sequence[Outcome]) -> str:
    """One suite per seed, one case per expectation; characters that XML cannot hold become U+FFFD."""
    root = ElementTree.Element("testsuites", name="studio-tui verify")
    suites: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        suites.setdefault(outcome.seed.name, []).append(outcome)
    for name, cases in suites.items():
        failed = sum(not case.held for case in cases)
        suite = ElementTree.SubElement(
            root, "testsuite", name=_xml(name), tests=str(len(cases)), failures=str(failed), errors="0",
            time=f"{sum(case.seconds for case in cases):.3f}",
        )  # fmt: skip
        for case in cases:
            _case(suite, name, case)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _case(suite: ElementTree.Element, seed: str, outcome: Outcome) -> None:
    expectation = outcome.expectation
    window = "" if expectation.window is None else f" (window {expectation.window})"
    case = ElementTree.SubElement(
        suite, "testcase", classname=_xml(seed), name=_xml(expectation.request + window), time=f"{outcome.seconds:.3f}",
        file=_xml(outcome.seed.file), line=str(expectation.line or 0),
    )  # fmt: skip
    if outcome.failures:
        failure = ElementTree.SubElement(case, "failure", message=_xml(outcome.failures[0]))
        failure.text = _xml("\n".join(outcome.failures))


def _xml(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)
