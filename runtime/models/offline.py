"""The offline model: no LLM. It knows the text of its request alone, so a smaller window visibly changes what it knows.

The rules, in order; the first that applies gives the step:

1. A request that holds all words of a tool's name, or at least two of its description and more than any other
   tool's, calls the tool, if its arguments are found in the request, once per turn. A delegate is a tool.
2. After results: `NAME says: RESULT`, a line for each.
3. Asked to restate: the user messages it sees, oldest first.
4. A question: `My context says: "LINE"`, the one line of its evidence that shares most words, ties to the newest.
5. A statement: `Noted.`

Of an agent written in ABL the first step notes what the message says (`offline_abl`); a handoff is a tool like any.

Evidence is the lines of history messages, state views and this turn's results: never the instructions, the request,
a line equal to it, or a line that ends in `?`. An answer holds no position, count or window: equal evidence, equal
answer.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator

from runtime.events import Called, Ended, ModelEvent, Sent, TextDelta
from runtime.models.arguments import find_arguments
from runtime.models.plain import body_of
from runtime.models.words import words
from runtime.values.dialogue import split
from runtime.values.items import AssistantStep, ToolCall, ToolResult, ToolResults
from runtime.values.json import JsonObject, as_text
from runtime.values.request import Request, ToolSpec
from runtime.values.reserved import RETURN, UNDERSTAND, is_reserved

NOTHING = "Nothing in my context answers that."
NOTED = "Noted."
RESTATE = frozenset(("said", "say", "restate", "repeat", "earlier"))

_QUOTE = re.compile(r'My context says: "(.*)"\Z')
_QUESTION_MARK = re.compile(r"\?[\"'”’»)\]]*(?:\s|\Z)")
_ASKS = re.compile(
    r"\W*(?:please\s+)?(?:(?:tell|show)\s+(?:me|us)\s+)?(what|when|where|who|whom|whose|which|why|how)\b"
    r"|\W*(?:please\s+)?(?:tell|show)\s+(?:me|us)\b",
    re.IGNORECASE,
)


class OfflineModel:
    """The model that needs no key (DESIGN). It holds no state; two equal requests give equal answers."""

    name = "offline"

    def __repr__(self) -> str:
        return "OfflineModel()"

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        """One step by the rules: a call, or one piece of text. Never fails."""
        yield Sent(body_of(request))
        step = answer(request)
        if isinstance(step, ToolCall):
            yield Called(step)
        else:
            yield TextDelta(step)
        yield Ended("stop")


def answer(request: Request) -> str | ToolCall:
    """What the offline model does with `request`: its text, or the one call it makes."""
    found = _noted(request) or _choose_call(request)
    if found:
        tool, arguments = found
        made = sum(len(item.calls) for item in request.transcript if isinstance(item, AssistantStep))
        return ToolCall(f"call_{made + 1}", tool.name, arguments)
    results = list(_results(request))
    if results:
        return "\n".join(f"{result.name} says: {as_text(result.output)}" for result in results)
    if RESTATE & words(request.brief):
        return "\n".join(_said_by_user(request)) or NOTHING
    if is_question(request.brief):
        line = best_line(request.brief, evidence(request))
        return NOTHING if line is None else f'My context says: "{line}"'
    return NOTED


def is_question(text: str) -> bool:
    """Whether `text` asks: it has a sentence that ends in `?`, or begins as a question does."""
    return bool(_QUESTION_MARK.search(text) or _ASKS.match(text))


def evidence(request: Request) -> list[str]:
    """The lines that the model knows, oldest first: history, state views, this turn's results."""
    asked = {line.strip() for line in (request.brief, *request.brief.splitlines())}
    known: list[str] = []
    for role, text in split(request.section("history")):
        own = role == "assistant"
        known += (_unquoted(line) if own else line for line in _lines(text) if not own or line not in (NOTHING, NOTED))
    known += _lines(request.section("state"))
    for result in _results(request):
        known += _lines(as_text(result.output))
    return [line for line in known if line not in asked and not line.endswith("?")]


def best_line(question: str, lines: list[str]) -> str | None:
    """The line that shares most words with `question`, the last of equals; None if none shares any."""
    sought = words(question)
    best, most = None, 1
    for line in lines:
        shared = len(sought & words(line))
        if shared >= most:
            best, most = line, shared
    return best


def _noted(request: Request) -> tuple[ToolSpec, JsonObject] | None:
    """The call that notes what the message says, if this step has to make it."""
    if request.must_call != UNDERSTAND:
        return None
    from runtime.models.offline_abl import understand  # only agents written in ABL need it
    from runtime.values.understanding import Questions

    tool = next(tool for tool in request.tools if tool.name == UNDERSTAND)
    return tool, understand(request.brief, Questions.of(tool), is_question(request.brief)).arguments()


def _choose_call(request: Request) -> tuple[ToolSpec, JsonObject] | None:
    """The tool that rule 1 calls, with its arguments; None if it calls none."""
    called = {c.name for item in request.transcript if isinstance(item, AssistantStep) for c in item.calls}
    called -= {UNDERSTAND}
    tools = tuple(tool for tool in request.tools if tool.name not in (UNDERSTAND, RETURN))
    spoken = words(request.brief)
    named = [tool for tool in tools if (name := words(tool.name)) and name <= spoken]
    named.sort(key=lambda tool: -len(words(tool.name)))
    if not named and not called:
        named = _described(spoken, tools)
    for tool in named:
        if tool.name not in called:
            arguments = find_arguments(request.brief, tool)
            if arguments is not None:
                return tool, arguments
    return None


def _described(spoken: frozenset[str], tools: tuple[ToolSpec, ...]) -> list[ToolSpec]:
    """The one tool whose description shares at least two words with the request, and more than any other's."""
    shared = sorted(((len(spoken & words(tool.description)), n) for n, tool in enumerate(tools)), reverse=True)
    if not shared or shared[0][0] < 2 or (len(shared) > 1 and shared[1][0] == shared[0][0]):
        return []
    return [tools[shared[0][1]]]


def _results(request: Request) -> Iterator[ToolResult]:
    for item in request.transcript:
        if isinstance(item, ToolResults):
            yield from (result for result in item.results if not is_reserved(result.name))


def _said_by_user(request: Request) -> Iterator[str]:
    """The user messages in the history, oldest first; the request is none of them, nor one equal to it."""
    asked = request.brief.strip()
    for role, text in split(request.section("history")):
        if role == "user" and text.strip() and text.strip() != asked:
            yield text.strip()


def _lines(text: str) -> Iterator[str]:
    return (line for raw in text.splitlines() if (line := raw.strip()))


def _unquoted(line: str) -> str:
    """What a line said in an earlier answer quotes: an answer is no evidence beyond the line it gave."""
    quote = _QUOTE.match(line)
    return quote[1] if quote else line
