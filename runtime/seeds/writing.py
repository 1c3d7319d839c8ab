"""A thread written as a seed: YAML that a person can read and that loads back to the same rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from runtime.seeds.rows import OpenCalls
from runtime.values.items import ToolCall
from runtime.values.json import Json, JsonObject, compact
from runtime.values.messages import Message, NewMessage, tool_call_part, tool_result_part

_STEP = 2
_WIDTH = 100
_LONGEST_KEY = 100
_DEEPEST = 20
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9 ,.()/'_-]*(?<! )\Z")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"))
_ODD = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def seed_yaml(
    rows: Iterable[Message | NewMessage],
    *,
    name: str,
    about: str = "",
    agent: str = "",
    state: JsonObject | None = None,
    suggestions: Sequence[str] = (),
) -> str:
    """A seed file of these rows and this state; reading it gives the same roles, texts, parts and flags.

    `agent` is a name, or empty for the plain agent. Texts that YAML could take for something else are quoted.
    """
    lines = [f"seed: {scalar(name)}"]
    lines += [f"about: {scalar(about)}"] if about else []
    lines += [f"agent: {scalar(agent)}"] if agent else []
    lines += _entry("state", state or {}, "") if state else []
    calls = OpenCalls()
    written = [line for row in rows for line in _row(row, calls)]
    lines += ["messages:", *written] if written else ["messages: []"]
    lines += ["try:", *(f"  - {scalar(text)}" for text in suggestions)] if suggestions else []
    return "\n".join(lines) + "\n"


def scalar(text: str) -> str:
    """One text on one line: plain if no reader of YAML can take it for anything else, else in double quotes."""
    if _PLAIN.match(text) and text.lower() not in _WORDS and len(text) <= _WIDTH:
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _ODD.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)


def _row(row: Message | NewMessage, calls: OpenCalls) -> Iterator[str]:
    yield from _text(f"  - {row.role}: ", row.text, "      ")
    if row.parts is not None:
        yield from _calls(row, calls) or _answer(row, calls) or _as_they_are(row.parts, calls)
    if row.flags:
        yield "    flags:"
        yield from (f"      - {scalar(flag)}" for flag in row.flags)


def _text(head: str, text: str, indent: str) -> Iterator[str]:
    """A text of several lines as a block, if a block gives back every character of it."""
    body = text.rstrip("\n")
    if "\n" not in body or _ODD.search(text):
        yield head + scalar(text)
        return
    ends = len(text) - len(body)
    keep = "-" if ends == 0 else "" if ends == 1 else "+"
    leading = body[0] in " \t\n" or not body.split("\n", 1)[0].strip()
    yield f"{head}|{_STEP if leading else ''}{keep}"
    for line in body.split("\n") + [""] * (ends - 1 if ends > 1 else 0):
        yield indent + line if line else ""


def _calls(row: Message | NewMessage, calls: OpenCalls) -> list[str]:
    """The lines of a row whose parts are calls and nothing else; none if `calls` could not say the same."""
    made: list[ToolCall] = []
    for part in row.parts or ():
        id, name, arguments = part.get("id"), part.get("name"), part.get("arguments")
        if not (isinstance(id, str) and id.strip() and isinstance(name, str) and name.strip()):
            return []
        if isinstance(arguments, str):
            same = ToolCall.read(id, name, arguments).arguments == arguments
        else:
            same = isinstance(arguments, Mapping)
        if not same or part != tool_call_part(id, name, arguments):
            return []
        assert isinstance(arguments, str | Mapping)
        made.append(ToolCall(id, name, arguments))
    ids = [call.id for call in made]
    if row.role != "assistant" or not made or len(set(ids)) < len(ids) or set(ids) & set(calls.ids):
        return []
    lines = ["    calls:"]
    for call in made:
        calls.open(call.id, call.name)
        lines.append(f"      - id: {scalar(call.id)}")
        lines.append(f"        name: {scalar(call.name)}")
        lines += _entry("arguments", call.arguments, "        ") if call.arguments else []
    return lines


def _answer(row: Message | NewMessage, calls: OpenCalls) -> list[str]:
    """The lines of a row that answers a call made before it; none if `call` could not say the same."""
    part = row.parts[0] if row.parts and len(row.parts) == 1 else {}
    id, error = part.get("call"), part.get("error")
    if row.role != "tool" or not isinstance(id, str) or id not in calls.ids or not isinstance(error, bool):
        return []
    name = calls.answer(id)
    if part != tool_result_part(id, name or "", error=error):
        calls.open(id, name or "")
        return []
    return [f"    call: {scalar(id)}", *(["    error: true"] if error else [])]


def _as_they_are(parts: tuple[JsonObject, ...], calls: OpenCalls) -> list[str]:
    calls.note(parts)
    return [f"    parts: {scalar(compact(list(parts)))}"]


def _entry(key: str, value: Json, indent: str) -> list[str]:
    """A value under a key: as YAML if it holds texts alone, since scalars stay text, else as JSON in quotes."""
    if isinstance(value, str):
        return [f"{indent}{key}: {scalar(value)}"]
    if _all_texts(value):
        return [f"{indent}{key}:", *_tree(value, indent + "  ")]
    return [f"{indent}{key}: {scalar(compact(value))}"]


def _tree(value: Json, indent: str) -> Iterator[str]:
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, str):
                yield from _text(f"{indent}{scalar(key)}: ", item, indent + "  ")
            else:
                yield f"{indent}{scalar(key)}:"
                yield from _tree(item, indent + "  ")
    elif isinstance(value, Sequence):
        for item in value:
            if isinstance(item, str):
                yield f"{indent}- {scalar(item)}"
            else:
                yield f"{indent}-"
                yield from _tree(item, indent + "  ")


def _all_texts(value: Json, depth: int = 0) -> bool:
    if depth > _DEEPEST:
        return False
    if isinstance(value, str):
        return True
    if isinstance(value, Mapping):
        return bool(value) and all(
            len(key) <= _LONGEST_KEY and _all_texts(item, depth + 1) for key, item in value.items()
        )
    return isinstance(value, Sequence) and bool(value) and all(_all_texts(item, depth + 1) for item in value)
