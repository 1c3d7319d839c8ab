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

RULES = {"S": 10, "A": 6, "T": 11, "M": 6, "F": 3, "H": 15, "X": 8, "Q": 5}
CASES = (
    1, 2, 4, 6, 8, 9, 11, 12, 13, 14, 16, 17, 18, 20, 22, 23, 24, 26, 27, 28, 30, 32, 33, 34, 35, 37, 39, 41, 42,
    44, 46, 47, 49, 51, 53, 54, 55, 58, 59, 61, 62, 65, 66, 67, 68, 70, 73, 74, 76, 77, 80, 82, 84, 85, 87, 88, 89, 91,
)  # fmt: skip

_NUMBERS = re.compile(r"test_((?:[A-Z][0-9]+_)*[A-Z][0-9]+)(?:_|\Z)")

HEAD = """# Tests

`make test` runs them all; `make fuzz` runs those marked `fuzz` with many more inputs. Nothing here needs a network, a
key or a home folder, and nothing sleeps: tests wait for what they expect. A test's name carries the numbers of the
rules and cases it proves. This map is written from the names by `python -m tests.rule_map`; a test holds it to them.

"""


def wanted() -> list[str]:
    """Every rule and case that must have a test."""
    return [f"{letter}{n}" for letter, last in RULES.items() for n in range(1, last + 1)] + [f"C{n:02}" for n in CASES]


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
