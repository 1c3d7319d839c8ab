"""Which test proves which rule: read from the names of the tests, written to README.md beside this file.

A test's name carries its numbers first: `test_S3_...`, `test_C06_S3_...`. `python -m tests.rule_map` writes the map.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).parent
README = HERE / "README.md"

RULES = {"S": 10, "A": 6, "T": 11, "M": 6, "F": 3, "X": 8, "Q": 5}
CASES = """
C01 C02 C04 C06 C08 C09 C11 C12 C13 C14 C16 C26 C27 C28 C30 C32 C33 C34 C35 C37 C39 C41 C42 C44 C46 C47 C49 C51 C53 C54
C55 C58 C59 C61 C62 C65 C66 C67 C68 C70 C73 C74 C76 C77 C80 C82 C84 C85 C87 C88 C89 C91
""".split()

_NUMBERS = re.compile(r"test_((?:[A-Z][0-9]+_)*[A-Z][0-9]+)(?:_|\Z)")

HEAD = """# Tests

`make test` runs them all; `make fuzz` runs those marked `fuzz` with many more inputs. Nothing here needs a network, a
key or a home folder, and nothing sleeps: tests wait for what they expect. A test's name carries the numbers of the
rules and cases it proves. This map is written from the names by `python -m tests.rule_map`, and a test holds it to them.

"""


def wanted() -> list[str]:
    """Every rule and case that must have a test."""
    return [f"{letter}{n}" for letter, last in RULES.items() for n in range(1, last + 1)] + CASES


def found() -> dict[str, list[str]]:
    """The tests by the numbers in their names, as `folder/file.py::test`."""
    tests: dict[str, list[str]] = defaultdict(list)
    for path in sorted(HERE.rglob("test_*.py")):
        for name in _tests_in(path):
            match = _NUMBERS.match(name)
            for number in match[1].split("_") if match else ():
                tests[number].append(f"{path.relative_to(HERE).as_posix()}::{name}")
    return tests


def written() -> str:
    """The text of README.md."""
    tests = found()
    lines = [f"| {number} | {'<br>'.join(f'`{test}`' for test in tests[number])} |" for number in _sorted(tests)]
    return HEAD + "\n".join(["| rule or case | proven by |", "|---|---|", *lines]) + "\n"


def _tests_in(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
            yield node.name


def _sorted(numbers: dict[str, list[str]]) -> list[str]:
    order = "SATMFHXQCE WI"
    return sorted(numbers, key=lambda number: (order.find(number[0]), number[0], int(number[1:])))


if __name__ == "__main__":
    README.write_text(written(), encoding="utf-8")
