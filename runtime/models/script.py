"""The scripted model: answers with the entries of a seed's script, so that every way a step can go is at hand.

It is a real part and not a test double: seeds ship scripts, and `studio-tui verify` runs them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

from runtime.errors import ModelError
from runtime.events import Called, Ended, ModelEvent, Sent, TextDelta
from runtime.models.failures import status_line
from runtime.models.plain import body_of
from runtime.values.items import AssistantStep, ToolCall, ToolResults
from runtime.values.json import as_text
from runtime.values.request import Request
from runtime.values.seed import ScriptEntry, When


class ScriptModel:
    """Answers a request with the first of `entries` whose conditions hold.

    `sleep` waits the delays, in seconds. An entry with `texts` says them in turn, counted in this object alone; all
    else is the same for equal requests. No entry for a request is a ModelError that names the step.
    """

    name = "script"

    def __init__(
        self, entries: Sequence[ScriptEntry], *, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep
    ) -> None:
        self._entries = tuple(entries)
        self._sleep = sleep
        self._said: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"ScriptModel({len(self._entries)} entries)"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """The step that the entry lists. Raises ModelError for `fail`, and if no entry's conditions hold."""
        yield Sent(body_of(request))
        n, entry = self._entry_for(request)
        pieces = () if entry.empty else _pieces(self._text_of(n, entry), entry.chunks)
        for piece in pieces:
            if entry.delay:
                await self._sleep(entry.delay)
            yield TextDelta(piece)
        if entry.delay and not pieces:
            await self._sleep(entry.delay)
        if entry.fail is not None:
            raise _failure(entry, streamed=bool(pieces))
        if entry.calls and not entry.empty:
            for call in _distinct(entry.calls, request):
                yield Called(call)
        if not entry.cut:
            yield Ended("length" if entry.truncate else "stop")

    def _entry_for(self, request: Request) -> tuple[int, ScriptEntry]:
        for n, entry in enumerate(self._entries):
            if holds(entry.when, request):
                return n, entry
        asked = request.brief if len(request.brief) <= 60 else request.brief[:59] + "…"
        turn = f"turn {request.number}, " if request.number else ""
        place = f"{turn}step {request.step}, tier {request.tier}"
        raise ModelError(f"the script has no entry for {place} of the request {asked!r}", kind="server")

    def _text_of(self, n: int, entry: ScriptEntry) -> str:
        if not entry.texts:
            return entry.text
        said = self._said.get(n, 0)
        self._said[n] = said + 1
        return entry.texts[said % len(entry.texts)]


def holds(when: When, request: Request) -> bool:
    """Whether every condition of `when` holds of `request`: numbers equal, texts contained, casefolded."""
    return (
        (when.step is None or when.step == request.step)
        and (when.turn is None or when.turn == request.number)
        and (when.tier is None or when.tier == request.tier)
        and (when.request is None or _contains(request.brief, when.request))
        and (when.history is None or _contains(request.section("history"), when.history))
        and (when.result is None or _has_result(request, when.result))
    )


def _contains(text: str, part: str) -> bool:
    return part.casefold() in text.casefold()


def _has_result(request: Request, part: str) -> bool:
    groups = (item for item in request.transcript if isinstance(item, ToolResults))
    return any(_contains(as_text(result.output), part) for group in groups for result in group.results)


def _pieces(text: str, chunks: int) -> tuple[str, ...]:
    """`text` in `chunks` pieces of nearly one length, fewer if it is shorter than that; none of an empty text."""
    count = max(1, min(chunks, len(text)))
    if count == 1:
        return (text,) if text else ()
    return tuple(text[len(text) * n // count : len(text) * (n + 1) // count] for n in range(count))


def _failure(entry: ScriptEntry, *, streamed: bool) -> ModelError:
    words = entry.fail or "failed"
    if entry.status is None:
        kind = "server" if streamed else "connection"
        return ModelError(words, kind=kind, retry_after=entry.retry_after)
    message = f"{status_line(entry.status)}: {words}"
    return ModelError(message, kind="status", status=entry.status, retry_after=entry.retry_after)


def _distinct(calls: tuple[ToolCall, ...], request: Request) -> list[ToolCall]:
    """The calls, with new ids where an id is empty or was used before in this turn: providers repeat none."""
    taken = {c.id for item in request.transcript if isinstance(item, AssistantStep) for c in item.calls}
    made: list[ToolCall] = []
    for n, call in enumerate(calls, 1):
        id = call.id if call.id and call.id not in taken else f"call_{request.step}_{n}"
        while id in taken:
            id += "x"
        taken.add(id)
        made.append(call if id == call.id else ToolCall(id, call.name, call.arguments))
    return made
