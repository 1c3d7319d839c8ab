"""`anthropic:NAME`: any server that speaks messages, streaming or not (M4)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING

from runtime.errors import ModelError
from runtime.events import ModelEvent, Sent
from runtime.models.anthropic_reply import MessageReader
from runtime.models.connection import Connection
from runtime.models.endpoint import read_endpoint, read_key
from runtime.models.messages import (
    AssistantTurn,
    Conversation,
    SentCall,
    SentResult,
    UserTurn,
    calls_made,
    conversation,
    not_kept,
    object_schema,
)
from runtime.models.plain import encode
from runtime.models.reply import ask
from runtime.models.settings import ModelSettings
from runtime.values.json import Json, JsonObject
from runtime.values.request import Attachment, Request

if TYPE_CHECKING:
    import httpx

BASE_URL = "https://api.anthropic.com"
KEY_NAME = "ANTHROPIC_API_KEY"
VERSION = "2023-06-01"


class AnthropicMessages:
    """A model behind the messages API. `model` is its name there; `base_url` may hold user, password and a query.

    `key` empty sends none; `key_name` is the variable that an error names for it. The answer is bounded by the tokens
    that the tier reserves for it (F1). Raises ConfigurationError for a base URL, proxy or key that cannot be used. Its
    repr, its errors and what it records hold no secret (Q3).
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str = BASE_URL,
        key: str = "",
        key_name: str = KEY_NAME,
        settings: ModelSettings | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        settings = settings or ModelSettings()
        key = read_key(key, field=key_name)
        self.name = f"anthropic:{model}"
        self._model = model
        self._key_to_set = "" if key else key_name
        self._stream = settings.stream
        self._connection = Connection(
            read_endpoint(base_url, messages_path),
            {"anthropic-version": VERSION, **({"x-api-key": key} if key else {})},
            secrets=(key,) if key else (),
            timeouts=settings.timeouts,
            proxy=settings.proxy,
            transport=transport,
        )
        self._endpoint = f"anthropic {self._connection.endpoint.url}"

    def __repr__(self) -> str:
        return f"AnthropicMessages({self._model!r}, {self._connection.endpoint.url!r})"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """One step. Raises ModelError for every way in which the server can fail (M2)."""
        said = conversation(request)
        body = encode(self._body(request, said))
        yield Sent(body, self._connection.endpoint.shown)
        taken = (call.id for call in calls_made(request))
        reader = MessageReader(self._endpoint, step=request.step, taken=taken, name=said.names.meant)
        try:
            async with aclosing(ask(self._connection, body, reader, stream=self._stream)) as events:
                async for event in events:
                    yield event
        except ModelError as error:
            raise self._told(error) from None

    async def aclose(self) -> None:
        """Close the connections that are kept open."""
        await self._connection.aclose()

    def _body(self, request: Request, said: Conversation) -> JsonObject:
        body: dict[str, Json] = {"model": self._model, "max_tokens": max(1, request.limits.reserve_tokens)}
        if said.system:
            body["system"] = said.system
        body["messages"] = messages_of(said, self._endpoint)
        tools = _tools(request, said)
        if tools:
            body["tools"] = tools
        if request.must_call:
            body["tool_choice"] = {"type": "tool", "name": said.names.sent(request.must_call)}
        body["stream"] = self._stream
        return body

    def _told(self, error: ModelError) -> ModelError:
        if error.status == 401 and self._key_to_set:
            words = f"{error.message} (no key was sent: set {self._key_to_set})"
            error = ModelError(words, kind=error.kind, status=error.status, retry_after=error.retry_after)
        return self._connection.redacted(error)


def messages_path(path: str) -> str:
    """The path to post to: `/v1/messages` below the base URL's path, which may end in `/v1` itself (C58)."""
    if path.endswith("/v1/messages"):
        return path
    return f"{path}/messages" if path.endswith("/v1") else f"{path}/v1/messages"


def messages_of(said: Conversation, endpoint: str) -> list[Json]:
    """The messages of a conversation; no block in them is blank (C61). Thoughts go back to `endpoint` alone."""
    messages: list[Json] = []
    for turn in said.turns:
        if isinstance(turn, UserTurn):
            messages.append({"role": "user", "content": _user_content(turn)})
        else:
            messages.append({"role": "assistant", "content": _assistant_content(turn, endpoint)})
    return messages


def _user_content(turn: UserTurn) -> Json:
    if not turn.results and not turn.attachments:
        return turn.text
    blocks: list[Json] = [_result(result) for result in turn.results]
    blocks += [_attachment(file) for file in turn.attachments]
    return [*blocks, _text(turn.text)] if turn.text else blocks


def _assistant_content(turn: AssistantTurn, endpoint: str) -> Json:
    kept = (turn.opaque or {}).get(endpoint)
    if isinstance(kept, list):
        return _as_it_came(kept, turn.calls)
    if not turn.calls:
        return turn.text
    blocks: list[Json] = [_text(turn.text)] if turn.text else []
    return blocks + [_call(call) for call in turn.calls]


def _as_it_came(kept: list[Json], calls: tuple[SentCall, ...]) -> list[Json]:
    """The blocks in the order in which the endpoint sent them: it refuses thoughts that were moved."""
    blocks: list[Json] = []
    left = list(calls)
    for block in kept:
        if not isinstance(block, Mapping):
            continue
        if block.get("type") == "tool_use":
            if left:
                blocks.append(_call(left.pop(0)))
        elif block.get("type") != "text" or str(block.get("text", "")).strip():
            blocks.append(block)
    return blocks + [_call(call) for call in left]


def _text(text: str) -> JsonObject:
    return {"type": "text", "text": text}


def _call(call: SentCall) -> JsonObject:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}


def _result(result: SentResult) -> JsonObject:
    block: dict[str, Json] = {"type": "tool_result", "tool_use_id": result.id, "content": result.text}
    if result.error:
        block["is_error"] = True
    return block


def _attachment(file: Attachment) -> JsonObject:
    if not file.data:
        raise ModelError(not_kept(file), kind="malformed")
    source: JsonObject = {"type": "base64", "media_type": file.media_type, "data": file.data}
    if file.media_type.startswith("image/"):
        return {"type": "image", "source": source}
    if file.media_type == "application/pdf":
        return {"type": "document", "source": source}
    raise ModelError(f"messages carry no attachment of type {file.media_type} ({file.name})", kind="malformed")


def _tools(request: Request, said: Conversation) -> list[Json]:
    """The tools offered. Without any, those that were called nonetheless: the API refuses calls of no tools at all."""
    tools: list[Json] = [
        {
            "name": said.names.sent(tool.name),
            "description": tool.description,
            "input_schema": object_schema(tool.schema),
        }
        for tool in request.tools
    ]
    if not tools:
        names = dict.fromkeys(call.name for call in calls_made(request))
        tools = [{"name": said.names.sent(name), "input_schema": object_schema({})} for name in names]
    return tools
