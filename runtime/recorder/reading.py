"""A recorded call read: what the program sent, and what the model answered, in the nouns of a turn."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from runtime.context import offered
from runtime.errors import BadInput, ModelError
from runtime.events import Called, ModelEvent, Opaque, TextDelta, UsageReported
from runtime.events import Ended as Finished
from runtime.models.anthropic_reply import MessageReader
from runtime.models.failures import not_the_dialect, refused
from runtime.models.openai_reply import CompletionReader
from runtime.models.sse import EventReader
from runtime.recorder.aligning import key_of
from runtime.recorder.traffic import Began, Dialect, Ended, without
from runtime.transcripts import anthropic, openai_chat
from runtime.transcripts.conversation import Lost
from runtime.transcripts.rows import Rows
from runtime.transcripts.shapes import parse
from runtime.values.items import ToolCall
from runtime.values.json import JsonObject, clean
from runtime.values.messages import NewMessage
from runtime.values.record import ToolOffered
from runtime.values.usage import Usage

_BLANK = b" \t\r\n\xef\xbb\xbf"
_LARGEST = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sent:
    """What a program sent in one call.

    `instructions` are the system messages that lead the list; `rows` are the messages after them with their `keys`.
    `body` is the request as it went on the wire, without secrets. `lost` is what of it no row carries.
    """

    dialect: Dialect
    model: str
    instructions: str
    rows: tuple[NewMessage, ...]
    keys: tuple[bytes, ...]
    tools: tuple[ToolOffered, ...]
    body: bytes
    lost: tuple[Lost, ...] = ()

    @property
    def request(self) -> int | None:
        """The index of the newest user message, None if there is none."""
        return next((at for at in reversed(range(len(self.rows))) if self.rows[at].role == "user"), None)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered, as far as it came. `error` is how it failed; `truncated` that it hit its output limit."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    opaque: JsonObject | None = None
    usage: Usage | None = None
    truncated: bool = False
    finished: bool = False
    error: ModelError | None = None


def read_sent(began: Began) -> Sent:
    """The request of a call. Raises BadInput for a body that is no request of its dialect."""
    body = without(began.secrets, began.body)
    try:
        value = parse(body.decode("utf-8-sig", "replace"))
    except ValueError as error:
        raise BadInput(f"the request is no JSON: {error}", field="body") from None
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        raise BadInput("the request holds no list of messages", field="messages")
    rows = Rows()
    (openai_chat if began.dialect == "openai-chat" else anthropic).add_body(rows, value, "")
    leading = 0
    while leading < len(rows.messages) and rows.messages[leading].role == "system":
        leading += 1
    said = tuple(rows.messages[leading:])
    return Sent(
        began.dialect,
        clean(rows.model),
        "\n\n".join(row.text for row in rows.messages[:leading]),
        said,
        tuple(key_of(row) for row in said),
        tuple(offered(tool) for tool in rows.tools),
        body,
        tuple(lost for lost in rows.losses() if lost.what != "call without a result"),
    )


def read_answer(dialect: Dialect, ended: Ended, *, secrets: tuple[str, ...], step: int, taken: Iterable[str]) -> Answer:
    """The answer of a call; every way in which it failed is its `error`, with what came before kept."""
    if ended.status is None:
        return Answer(error=ModelError(ended.error or "no answer came", kind="connection"))
    headers = {name.lower(): value for name, value in ended.headers.items()}
    whole = without(secrets, decoded(ended.body, headers.get("content-encoding", "")))
    if not 200 <= ended.status < 300:
        return Answer(error=refused(ended.status, headers, whole))
    make = CompletionReader if dialect == "openai-chat" else MessageReader
    reader = make(dialect, step=step, taken=taken)
    gathered = _Gathered()
    try:
        _read(reader, whole, ended.status, headers.get("content-type", ""), gathered)
    except ModelError as error:
        gathered.error = error
    return gathered.answer()


def decoded(body: Sequence[bytes], encoding: str) -> bytes:
    """The bytes of a body without its compression, as far as they can be read; a broken end is cut off."""
    data = b"".join(body)
    for one in reversed([name.strip().lower() for name in encoding.split(",") if name.strip()]):
        if one in ("gzip", "x-gzip"):
            data = _inflated(data, 31)
        elif one == "deflate":
            data = _inflated(data, 15) or _inflated(data, -15)
    return data


def _inflated(data: bytes, bits: int) -> bytes:
    """What `data` unpacks to; a stream may consist of several, and may break off."""
    found: list[bytes] = []
    size = 0
    while data and size < _LARGEST:
        reader = zlib.decompressobj(bits)
        try:
            found.append(reader.decompress(data, _LARGEST - size))
        except zlib.error:
            break
        size += len(found[-1])
        data = reader.unused_data
    return b"".join(found)


class _Gathered:
    """The events of one answer, gathered."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._opaque: JsonObject | None = None
        self._usage: Usage | None = None
        self._reason = ""
        self.error: ModelError | None = None

    def take(self, events: Iterable[ModelEvent]) -> None:
        for event in events:
            match event:
                case TextDelta():
                    self._texts.append(event.text)
                case Called():
                    self._calls.append(event.call)
                case UsageReported():
                    self._usage = event.usage
                case Opaque():
                    self._opaque = event.blocks
                case Finished():
                    self._reason = event.reason

    def answer(self) -> Answer:
        return Answer(
            "".join(self._texts),
            tuple(self._calls),
            self._opaque,
            self._usage,
            self._reason == "length",
            bool(self._reason),
            self.error,
        )


def _read(
    reader: CompletionReader | MessageReader, body: bytes, status: int, content_type: str, gathered: _Gathered
) -> None:
    start = body.lstrip(_BLANK)[:1]
    if start in (b"{", b"["):
        try:
            value = json.loads(body.decode("utf-8-sig", "replace"))
        except (ValueError, RecursionError):
            raise not_the_dialect(status, content_type, body[:2_000].decode("utf-8", "replace")) from None
        gathered.take(reader.whole(value))
    elif not start or start == b"<" or "html" in content_type:
        raise not_the_dialect(status, content_type, body[:2_000].decode("utf-8", "replace"))
    else:
        _streamed(reader, body, gathered)


def _streamed(reader: CompletionReader | MessageReader, body: bytes, gathered: _Gathered) -> None:
    events = EventReader()
    for event in events.feed(body):
        if reader.done:
            break
        gathered.take(reader.feed(event))
    if not reader.done:
        try:
            for event in events.end():
                gathered.take(reader.feed(event))
        except ModelError as error:
            if error.kind != "malformed":
                raise  # the last lines may have been cut in the middle: then they say nothing
    gathered.take(reader.end())
