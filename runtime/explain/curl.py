"""A step as a curl command: the body as it was sent, where it was sent, and a variable where the key was (Q3)."""

from __future__ import annotations

import json
import re
import shlex

from runtime.errors import BadInput
from runtime.values.record import TurnRecord

LONGEST_ARGUMENT = 100_000
"""Bytes of a body that is given as an argument; systems refuse much more, and a longer one is read from stdin."""

SECRET = "$MODEL_SECRET"
"""Stands where the address held a secret of its own: a password, or a key in the query."""

_REDACTED = "[redacted]"
_HEADERS = {
    "openai": ('"authorization: Bearer $OPENAI_API_KEY"',),
    "anthropic": ('"x-api-key: $ANTHROPIC_API_KEY"', "'anthropic-version: 2023-06-01'"),
}
_NO_ASCII = re.compile(r"[^\x20-\x7e]")
_END = "BODY"


def curl_command(record: TurnRecord, step: int, body: bytes | None) -> str:
    """The request of a step for any POSIX shell; of several attempts the last, whose `body` is the one that is kept.

    The key is `$OPENAI_API_KEY` or `$ANTHROPIC_API_KEY`, whatever variable it came from. No control character
    is in the text: the body is the same JSON with what a terminal would not show written as `\\uXXXX`.
    Raises BadInput for a step that did not go over a wire, and for a body that is gone.
    """
    name = f"step {step} of turn {record.turn}"
    attempts = [attempt for attempt in record.tiers if attempt.step == step]
    if not attempts:
        made = sorted({attempt.step for attempt in record.tiers})
        steps = f"; its steps are {', '.join(map(str, made))}" if made else ""
        raise BadInput(f"turn {record.turn} has no step {step}{steps}", field="step")
    last = attempts[-1]
    if not last.url:
        raise BadInput(f"{name} did not go over a wire: {last.model} answered it here", field="step")
    if body is None:
        raise BadInput(f"the body of {name} is gone: it was pruned to keep the store small", field="step")
    text = body.decode("utf-8", "replace")
    headers = ("'content-type: application/json'", *_HEADERS[last.model.partition(":")[0]])
    words = [f"curl {'-N ' if _streams(text) else ''}{_address(last.url)}", *(f"-H {header}" for header in headers)]
    text = _plain(text)
    if len(text.encode()) <= LONGEST_ARGUMENT:
        return " ".join([*words, f"--data-raw {shlex.quote(text)}"])
    return " ".join([*words, f"--data-binary @- <<'{_END}'\n{text}\n{_END}"])


def _address(url: str) -> str:
    """The address as a shell word; the stand-ins for secrets become a variable."""
    user = f'--user "{SECRET}" ' if f"://{_REDACTED}@" in url else ""
    pieces = url.replace(f"{_REDACTED}@", "", 1 if user else 0).split(_REDACTED)
    return user + f'"{SECRET}"'.join(shlex.quote(piece) if piece else "" for piece in pieces)


def _plain(text: str) -> str:
    """JSON on one line with everything escaped that a terminal would not show; between values a blank will do."""
    return _NO_ASCII.sub(lambda sign: " " if sign[0] in "\n\r\t" else _escaped(sign[0]), text)


def _streams(text: str) -> bool:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(body, dict) and body.get("stream") is True


def _escaped(sign: str) -> str:
    if sign.isprintable():
        return sign
    data = sign.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{data[n]:02x}{data[n + 1]:02x}" for n in range(0, len(data), 2))
