"""Arguments for a tool, found in the words of a request by the tool's schema alone: what the offline model can do.

Quoted text first; then numbers; then a value that the schema names; else the words after the tool's name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from runtime.models.words import RUN, word, words
from runtime.values.json import Json, JsonObject
from runtime.values.request import ToolSpec

_QUOTED = re.compile(r'"([^"]+)"|“([^”]+)”|«([^»]+)»|`([^`]+)`|(?<!\w)\'([^\']+)\'(?!\w)')
_NUMBER = re.compile(r"(?<![\w.,])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?![\w]|[.,]\d)")
_LINK = re.compile(
    r"(?:[\s:;,=]+|[-–—]+\s|(?:about|for|on|the|an?|to|of|with|in|by|from|as|that|is)\b)+", re.IGNORECASE
)
_LINK_TO_BRIEF = re.compile(r"(?:[\s:;,=]+|[-–—]+\s|(?:about|for|to|that)\b)+", re.IGNORECASE)
_YES = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def find_arguments(request: str, tool: ToolSpec) -> JsonObject | None:
    """The arguments that `request` gives for `tool`; None if one that the schema requires is not in it.

    An argument that is not required and not found is left out.
    """
    properties = tool.schema.get("properties")
    if not isinstance(properties, Mapping):
        return {}
    required = tool.schema.get("required")
    needed = {name for name in required if isinstance(name, str)} if isinstance(required, Sequence) else set()
    said = _Said(request, tool)
    found: dict[str, Json] = {}
    for name, schema in properties.items():
        value = said.value_for(name, _resolved(schema, tool.schema))
        if value is not None:
            found[name] = value
        elif name in needed:
            return None
    return found


class _Said:
    """What one request offers, each piece given away once."""

    def __init__(self, request: str, tool: ToolSpec) -> None:
        quoted = [next(filter(None, match.groups())) for match in _QUOTED.finditer(request)]
        bare = _QUOTED.sub(" ", request)
        self._request = request
        self._texts: Iterator[str] = iter(quoted)
        self._numbers: Iterator[str] = iter(number.replace(",", "") for number in _NUMBER.findall(bare))
        self._rest: str | None = _after_name(request, tool.name)

    def value_for(self, name: str, schema: JsonObject) -> Json:
        """The value for the argument `name`, None if the request has none."""
        if "const" in schema:
            return schema["const"]
        choices = schema.get("enum")
        if isinstance(choices, Sequence) and not isinstance(choices, str):
            return self._named(choices)
        match schema.get("type"):
            case "string":
                return next(self._texts, None) or self._words_after(name)
            case "integer":
                number = next(self._numbers, None)
                return int(number) if number is not None and "." not in number else None
            case "number":
                number = next(self._numbers, None)
                return None if number is None else float(number) if "." in number else int(number)
            case "boolean":
                spoken = (run.casefold() for run in RUN.findall(self._request))
                return next((_YES[run] for run in spoken if run in _YES), None)
            case "array":
                return self._list_of(schema.get("items"))
        return None

    def _named(self, choices: Sequence[Json]) -> Json:
        """The choice that the request names first."""
        request = self._request.casefold()
        places: list[tuple[int, int]] = []
        for n, choice in enumerate(choices):
            spelled = r"[\s_-]+".join(re.escape(run.casefold()) for run in RUN.findall(str(choice)))
            at = re.search(rf"(?<!\w){spelled}(?!\w)", request) if spelled else None
            if at:
                places.append((at.start(), n))
        return choices[min(places)[1]] if places else None

    def _words_after(self, name: str) -> str | None:
        rest, self._rest = self._rest, None
        if rest is None:
            return None
        if name == "brief":
            return rest[_end_of(_LINK_TO_BRIEF, rest) :].strip() or None
        return rest[_end_of(_LINK, rest) :].rstrip(" \t\n.,;:!?") or None

    def _list_of(self, items: Json) -> Json:
        kind = items.get("type") if isinstance(items, Mapping) else None
        if kind == "string":
            return list(self._texts) or None
        if kind in ("integer", "number"):
            return [float(number) if "." in number else int(number) for number in self._numbers] or None
        return None


def _after_name(request: str, name: str) -> str | None:
    """What follows the last of the name's words in the request; None if the request has none of them."""
    sought = words(name)
    ends: dict[str, int] = {}
    for run in RUN.finditer(request):
        if (spoken := word(run[0])) in sought:
            ends.setdefault(spoken, run.end())
    return request[max(ends.values()) :] if ends else None


def _end_of(link: re.Pattern[str], rest: str) -> int:
    match = link.match(rest)
    return match.end() if match else 0


def _resolved(schema: Json, root: JsonObject) -> JsonObject:
    """A property's schema with `$ref` followed and an alternative to null taken for what it is beside null."""
    for _ in range(8):
        if not isinstance(schema, Mapping):
            return {}
        reference, options, kind = schema.get("$ref"), schema.get("anyOf") or schema.get("oneOf"), schema.get("type")
        if isinstance(reference, str) and reference.startswith("#/"):
            schema = _at(root, reference[2:].split("/"))
        elif isinstance(options, Sequence) and not isinstance(options, str):
            real = (option for option in options if isinstance(option, Mapping) and option.get("type") != "null")
            schema = next(real, None)
        elif isinstance(kind, Sequence) and not isinstance(kind, str):
            return {**schema, "type": next((one for one in kind if one != "null"), None)}
        else:
            return schema
    return {}


def _at(root: JsonObject, path: list[str]) -> Json:
    here: Json = root
    for key in path:
        here = here.get(key.replace("~1", "/").replace("~0", "~")) if isinstance(here, Mapping) else None
    return here
