"""What a docstring says to a model: a description of the tool, and of each argument."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(
    r"(Args|Arguments|Parameters|Params|Returns?|Raises|Yields|Examples?|Notes?):\s*\Z", re.IGNORECASE
)
_ARGUMENTS = ("args", "arguments", "parameters", "params")
_ARGUMENT = re.compile(r"(?P<indent>\s*)\*{0,2}(?P<name>\w+)\s*(\([^)]*\))?\s*:\s*(?P<text>.*)")
_FIELD = re.compile(r":(?P<kind>param|parameter|arg|argument)\s+(?:[^:]*\s)?(?P<name>\w+):\s*(?P<text>.*)")
_OTHER_FIELD = re.compile(r":\w+[^:]*:")


def read(docstring: str | None) -> tuple[str, dict[str, str]]:
    """The description (everything before the first section, on one line) and a text for each described argument.

    Arguments are read from an `Args:` section (`name: text` or `name (type): text`, longer texts indented further)
    or from `:param name: text` lines.
    """
    description: list[str] = []
    arguments: dict[str, str] = {}
    section, name = "", ""
    depth: int | None = None
    for line in inspect.cleandoc(docstring or "").split("\n"):
        if field := _FIELD.match(line.strip()):
            section, name = "fields", field["name"]
            arguments[name] = field["text"]
        elif _OTHER_FIELD.match(line.strip()) and section in ("", "fields"):
            section, name = "fields", ""
        elif heading := _SECTION.match(line):
            section, name, depth = heading[1].lower(), "", None
        elif section in _ARGUMENTS:
            entry = _ARGUMENT.match(line)
            if entry and (depth is None or len(entry["indent"]) <= depth):
                name, depth = entry["name"], len(entry["indent"])
                arguments[name] = entry["text"]
            elif name:
                arguments[name] += " " + line
        elif section == "fields" and name:
            arguments[name] += " " + line
        elif not section:
            description.append(line)
    return _folded(" ".join(description)), {key: _folded(text) for key, text in arguments.items()}


def _folded(text: str) -> str:
    return " ".join(text.split())
