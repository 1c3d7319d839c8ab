"""A target elsewhere, spoken to over REST (H11): its first answer decides whether it accepts, the others are turns."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from runtime.abl.project import Remote
from runtime.errors import ModelError
from runtime.events import Ended, ModelEvent, Sent, TextDelta
from runtime.handoff.web import exchange, readable
from runtime.models.endpoint import read_endpoint
from runtime.models.plain import encode
from runtime.values.json import Json, JsonObject
from runtime.values.messages import Message
from runtime.values.request import Request

SECONDS: Final = 60.0
"""How long a remote target may take for one answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a remote target said. `done` gives the conversation back if the route returns."""

    reply: str
    values: JsonObject = field(default_factory=dict)
    done: bool = False


async def ask(remote: Remote, body: JsonObject) -> Answer:
    """Post `body` and read the answer.

    Raises ModelError for every way in which the target does not accept: no address, no protocol we speak, no answer,
    a status that is not 2xx, an answer that is not `{"reply", "values", "done"}`.
    """
    if remote.protocol not in ("rest", ""):
        raise ModelError(f"the protocol {remote.protocol} is not spoken here; write PROTOCOL: rest", kind="connection")
    if not remote.endpoint:
        raise ModelError("the route names no ENDPOINT", kind="connection")
    answer = readable(await exchange(remote.endpoint, body, seconds=SECONDS))
    reply = answer.get("reply") if isinstance(answer, Mapping) else None
    if not isinstance(answer, Mapping) or not isinstance(reply, str) or not reply.strip():
        raise ModelError("the answer is no object with a text `reply`", kind="malformed")
    values = answer.get("values")
    return Answer(reply, values if isinstance(values, Mapping) else {}, answer.get("done") is True)


def body_of(agent: str, message: str, rows: Sequence[Message], summary: str, values: JsonObject) -> JsonObject:
    """What is posted: the customer's message, the rows as they are stored, SUMMARY filled in, the values."""
    messages: list[Json] = [row_json(row) for row in rows]
    return {"agent": agent, "message": message, "messages": messages, "summary": summary, "values": values}


def row_json(row: Message) -> JsonObject:
    """A row as it is stored."""
    return {"role": row.role, "text": row.text, "parts": None if row.parts is None else list(row.parts)}


class RemoteModel:
    """A remote target as a model: its turns are recorded like any other, with what was posted as their body.

    `first` is the answer to the exchange by which the target accepted: its first turn tells that and asks nothing
    again. `last` is the newest answer, for what comes with it.
    """

    def __init__(self, name: str, remote: Remote, body: JsonObject, first: Answer | None = None) -> None:
        self.name = f"rest:{name}"
        self._remote = remote
        self._body = body
        self._first = first
        self.last: Answer | None = None

    def __repr__(self) -> str:
        return f"RemoteModel({self.name!r})"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """One answer. Raises ModelError if there is none."""
        yield Sent(encode(self._body), read_endpoint(self._remote.endpoint, lambda path: path).shown)
        self.last = self._first if self._first is not None else await ask(self._remote, self._body)
        self._first = None
        yield TextDelta(self.last.reply)
        yield Ended("stop")
