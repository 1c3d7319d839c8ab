"""`openai:NAME`: any server that speaks chat completions, streaming or not (M4)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from runtime.errors import ModelError
from runtime.events import ModelEvent, Sent
from runtime.models.connection import Connection
from runtime.models.endpoint import read_endpoint, read_key
from runtime.models.messages import (
    AssistantTurn,
    Conversation,
    SentResult,
    UserTurn,
    calls_made,
    conversation,
    not_kept,
    object_schema,
)
from runtime.models.openai_reply import CompletionReader
from runtime.models.plain import encode
from runtime.models.reply import ask
from runtime.models.settings import ModelSettings
from runtime.values.json import Json, JsonObject, compact
from runtime.values.request import Attachment, Request, ToolSpec

if TYPE_CHECKING:
    import httpx

BASE_URL = "https://api.openai.com/v1"
KEY_NAME = "OPENAI_API_KEY"


class OpenAIChat:
    """A model behind chat completions. `model` is its name there; `base_url` may hold user, password and a query.

    `key` empty sends none: local servers need none; `key_name` is the variable that an error names for it. Raises
    ConfigurationError for a base URL, proxy or key that cannot be used. Its repr, its errors and what it records hold
    no secret (Q3).
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
        self.name = f"openai:{model}"
        self._model = model
        self._key_to_set = "" if key else key_name
        self._stream = settings.stream
        self._with_usage = True  # Until the server refuses to report it in a stream.
        self._connection = Connection(
            read_endpoint(base_url, chat_path),
            {"authorization": f"Bearer {key}"} if key else {},
            secrets=(key,) if key else (),
            timeouts=settings.timeouts,
            proxy=settings.proxy,
            transport=transport,
        )
        self._endpoint = f"openai {self._connection.endpoint.url}"

    def __repr__(self) -> str:
        return f"OpenAIChat({self._model!r}, {self._connection.endpoint.url!r})"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """One step. `Sent` comes a second time if the server refused to report usage and was asked again without.

        Raises ModelError for every way in which the server can fail (M2).
        """
        said = conversation(request)
        while True:
            body = encode(self._body(request, said))
            yield Sent(body, self._connection.endpoint.shown)
            asked_for_usage = self._stream and self._with_usage
            reader = CompletionReader(
                self._endpoint,
                step=request.step,
                taken=(call.id for call in calls_made(request)),
                name=said.names.meant,
            )
            try:
                async with aclosing(ask(self._connection, body, reader, stream=self._stream)) as events:
                    async for event in events:
                        yield event
                return
            except ModelError as error:
                if not (asked_for_usage and _refuses_usage(error)):
                    raise self._told(error) from None
                self._with_usage = False

    async def aclose(self) -> None:
        """Close the connections that are kept open."""
        await self._connection.aclose()

    def _body(self, request: Request, said: Conversation) -> JsonObject:
        body: dict[str, Json] = {"model": self._model, "messages": messages_of(said, self._endpoint)}
        if request.tools:
            body["tools"] = [_tool(tool, said.names.sent(tool.name)) for tool in request.tools]
            if request.must_call:
                named = said.names.sent(request.must_call)
                body["tool_choice"] = {"type": "function", "function": {"name": named}}
        body["stream"] = self._stream
        if self._stream and self._with_usage:
            body["stream_options"] = {"include_usage": True}
        return body

    def _told(self, error: ModelError) -> ModelError:
        if error.status == 401 and self._key_to_set:
            words = f"{error.message} (no key was sent: set {self._key_to_set})"
            error = ModelError(words, kind=error.kind, status=error.status, retry_after=error.retry_after)
        return self._connection.redacted(error)


def chat_path(path: str) -> str:
    """The path to post to: a base URL without any path is taken to mean `/v1` (C58)."""
    if path.endswith("/chat/completions"):
        return path
    return f"{path or '/v1'}/chat/completions"


def messages_of(said: Conversation, endpoint: str) -> list[Json]:
    """The messages of a conversation. What was kept for `endpoint` goes back with the calls it came with."""
    messages: list[Json] = []
    if said.system:
        messages.append({"role": "system", "content": said.system})
    for turn in said.turns:
        match turn:
            case UserTurn():
                messages += [_result(result) for result in turn.results]
                if turn.text or turn.attachments:
                    messages.append({"role": "user", "content": _content(turn)})
            case AssistantTurn():
                messages.append(_assistant(turn, endpoint))
    return messages


def _assistant(turn: AssistantTurn, endpoint: str) -> JsonObject:
    message: dict[str, Json] = {"role": "assistant", "content": turn.text or (None if turn.calls else "")}
    if not turn.calls:
        return message
    kept = (turn.opaque or {}).get(endpoint)
    blocks = dict(kept) if isinstance(kept, dict) else {}
    extras = blocks.pop("extra_content", None)
    calls: list[Json] = []
    for n, call in enumerate(turn.calls):
        function: JsonObject = {"name": call.name, "arguments": compact(call.arguments)}
        sent: dict[str, Json] = {"id": call.id, "type": "function", "function": function}
        if isinstance(extras, list) and n < len(extras) and extras[n] is not None:
            sent["extra_content"] = extras[n]
        calls.append(sent)
    return {**message, **blocks, "tool_calls": calls}


def _result(result: SentResult) -> JsonObject:
    """A result; chat completions have no mark for an error, so the text says that it is one."""
    text = result.text
    if result.error and not text.casefold().startswith("error"):
        text = f"Error: {text}"
    return {"role": "tool", "tool_call_id": result.id, "content": text}


def _content(turn: UserTurn) -> Json:
    if not turn.attachments:
        return turn.text
    parts: list[Json] = [{"type": "text", "text": turn.text}] if turn.text else []
    return parts + [_attachment(file) for file in turn.attachments]


def _attachment(file: Attachment) -> JsonObject:
    if not file.data:
        raise ModelError(not_kept(file), kind="malformed")
    address = f"data:{file.media_type};base64,{file.data}"
    if file.media_type.startswith("image/"):
        return {"type": "image_url", "image_url": {"url": address}}
    if file.media_type == "application/pdf":
        return {"type": "file", "file": {"filename": file.name, "file_data": address}}
    raise ModelError(f"chat completions carry no attachment of type {file.media_type} ({file.name})", kind="malformed")


def _tool(tool: ToolSpec, name: str) -> JsonObject:
    return {
        "type": "function",
        "function": {"name": name, "description": tool.description, "parameters": object_schema(tool.schema)},
    }


def _refuses_usage(error: ModelError) -> bool:
    said = error.message.casefold()
    return error.status in (400, 422) and ("stream_options" in said or "include_usage" in said)
