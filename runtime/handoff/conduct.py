"""One turn of an agent written in ABL: understand, route, complete, ask, answer, in this order (H14, H15).

A Conductor is the turn's guide and answers its calls. What it decided that reaches beyond the turn is its `outcome`;
what happened between agents on the way are its `events`, numbered by whoever logs them.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Literal, TypeAlias

from runtime import tools
from runtime.abl.assignments import assign
from runtime.abl.project import AgentSource, Completion, Route
from runtime.abl.templates import render
from runtime.calls import Answered, WhenCancelled
from runtime.errors import ModelError
from runtime.guide import Ask, End
from runtime.handoff.events import Carried, FailedHandoff, Refusal, RefusedHandoff, ReturnReason, UnresolvedRoute
from runtime.handoff.gather import fill, intents_of, open_field, prompt_of, questions
from runtime.handoff.notes import KEY, Notes, notes_of, state_of, values_of
from runtime.handoff.remote import Answer
from runtime.handoff.routing import carry, completion, scope_of, tried
from runtime.handoff.rows import tool_rows
from runtime.handoff.speaker import Speaker, handoff_tools, return_tool
from runtime.handoff.strategy import Place
from runtime.models.offline import is_question
from runtime.values.items import AssistantStep, Item, ToolCall, ToolResult, ToolResults
from runtime.values.json import Json, JsonObject, as_text
from runtime.values.messages import NewMessage
from runtime.values.request import ToolSpec
from runtime.values.understanding import HANDOFF, RETURN, UNDERSTAND, Understood

DONE: Final = "That is done."
"""What a COMPLETE without RESPOND says."""

TO_A_PERSON: Final = "A person will take over from here."
"""What is said when ON_FAILURE escalates."""

_GO_ON: Final = "Go on: answer the customer's message."
_TRIES: Final = 2


@dataclass(frozen=True, slots=True)
class HandOff:
    """The turn hands the conversation to the target of `route`; `answer` is a remote target's first one."""

    route: Route
    carried: Carried
    answer: Answer | None = None


@dataclass(frozen=True, slots=True)
class GoBack:
    """The child gives the conversation back; `answered` says whether the customer's message has its answer."""

    reason: ReturnReason
    answered: bool = True


@dataclass(frozen=True, slots=True)
class Leave:
    """The message is for the caller, by this intent: the child is left waiting (H14)."""

    intent: str


@dataclass(frozen=True, slots=True)
class Escalate:
    """The conversation goes to a person."""


Outcome: TypeAlias = "HandOff | GoBack | Leave | Escalate"
Loose: TypeAlias = "RefusedHandoff | FailedHandoff | UnresolvedRoute"
Phase = Literal["begin", "understand", "offer", "answer"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a turn stands in.

    `caller` is whom a returnable child can give the conversation back to, with the intent that `led_by` it here;
    `first` is a turn that a handoff opened. A turn that no customer message opened does not understand one.
    `opening` is said before the answer. `refused` guards a handoff (H10), by target and whether it is remote; `reach`
    asks a remote target, with the rows that this turn would leave behind.
    """

    speaker: Speaker
    thread: str
    message: str
    caller: AgentSource | None
    led_by: str | None
    first: bool
    understands: bool
    opening: str
    refused: Callable[[str, bool], tuple[Refusal, str] | None]
    reach: Callable[[Route, Carried, Sequence[NewMessage]], Awaitable[Answer]]


@dataclass(slots=True)
class Conductor:
    """Guide and answers of one turn. `turn` and `place` (of the request's row) are told once the turn is open."""

    setting: Setting
    turn: str = ""
    place: Place | None = None
    outcome: Outcome | None = None
    events: list[Loose] = field(default_factory=list)
    _phase: Phase = "begin"
    _said: Understood | None = None
    _filled: bool = False
    _refused: Mapping[str, str] = field(default_factory=dict)
    _tries: int = 0
    _nudge: str = ""
    _chosen: Route | None = None
    _returning: bool = False
    _unreachable: set[str] = field(default_factory=set)
    _transcript: Sequence[Item] = ()

    @property
    def source(self) -> AgentSource:
        return self.setting.speaker.source

    # The guide

    async def next(self, transcript: Sequence[Item], state: JsonObject) -> Ask | End:
        """What comes after what there is: a model call, or the end of the turn."""
        self._transcript = transcript
        last = transcript[-1] if transcript else None
        if self._phase == "begin" and self.setting.understands:
            self._phase = "understand"
            return self._understanding(state)
        if self._phase == "understand" and self._said is None:
            if isinstance(last, ToolResults) and self._tries < _TRIES:
                self._tries += 1
                return self._understanding(state)
            said = _read_text(last.text) if isinstance(last, AssistantStep) else Understood()
            self._nudge = _GO_ON if isinstance(last, AssistantStep) else ""
            state = {**state, **self._note(said, state)}
        if self._phase in ("begin", "understand"):
            return await self._decide(state)
        if isinstance(last, AssistantStep):
            return self._finish(last.text, state)
        return await self._after_calls(state)

    def tools(self, state: JsonObject) -> tuple[ToolSpec, ...]:
        """Every tool that the turn may offer, for its context (A1)."""
        return (*self._understanding(state).tools, *self._offered())

    def _understanding(self, state: JsonObject) -> Ask:
        asked = questions(self.source, values_of(state), notes_of(state), self.setting.caller)
        return Ask((asked.tool(),), UNDERSTAND)

    async def _decide(self, state: JsonObject) -> Ask | End:
        """What the message leads to, now that it is understood."""
        left = self._leaves()
        if left is not None:
            self.outcome = Leave(left)
            assert self.setting.caller is not None
            return self._end(None, state, {"decision": "leave", "to": self.setting.caller.name, "intent": left})
        for one in tried(self.source, self._scope(state)):
            if one.names or one.error:
                self.events.append(UnresolvedRoute(*self._head(one.route), names=one.names, error=one.error))
            if one.holds:
                end = await self._take(one.route, state)
                if end is not None:
                    return end
        done = self._completion(state)
        if done is not None:
            return self._complete(done, "", state)
        return self._ask_or_answer(state)

    def _ask_or_answer(self, state: JsonObject) -> Ask | End:
        """Ask for the open field, or have the model answer; a question comes before the field (H14)."""
        open_one = open_field(self.source, values_of(state))
        asks = self._asks()
        offered = bool(self._handoffs())
        if open_one is not None and not asks:
            self._phase = "offer"
            return (
                self._ask(tuple(spec for _, spec in self._handoffs().values()), state)
                if offered
                else self._finish("", state)
            )
        self._phase = "answer"
        if open_one is None and self.setting.speaker.is_router and not offered and self.source.intents:
            return self._finish("", state)
        return self._ask(self._offered(), state)

    async def _after_calls(self, state: JsonObject) -> Ask | End:
        route, self._chosen = self._chosen, None
        if route is not None:
            end = await self._take(route, state, guarded=True)
            if end is not None:
                return end
            self._unreachable.add(route.to)
            self._nudge = f"{route.to} cannot be reached. Answer the customer yourself."
        elif self._returning:
            text = _last_text(self._transcript)
            self.outcome = GoBack("called", answered=bool(text))
            return self._end(text or None, state, {"decision": "return"})
        if self._phase == "offer":
            return self._finish("", state)
        return self._ask(self._offered(), state)

    def _finish(self, text: str, state: JsonObject) -> End:
        """The turn's answer: what the model said, then COMPLETE's words or the prompt of the open field."""
        done = self._completion(state)
        if done is not None:
            return self._complete(done, text, state)
        values = values_of(state)
        open_one = open_field(self.source, values)
        said = "" if self._phase == "offer" and open_one is not None else text.strip()
        if open_one is not None:
            again = notes_of(state).asked == open_one.name and open_one.name in self._refused
            prompt = prompt_of(open_one, self._scope(state), again=again)
            notes = replace(notes_of(state), asked=open_one.name)
            decision: JsonObject = {"decision": "ask", "field": open_one.name}
            return self._end(_joined(said, prompt), state_of(values, notes), decision)
        if self.setting.speaker.is_router and self.source.intents:
            return self._end(self._list_of_intents(), state, {"decision": "intents"})
        if self.setting.caller is not None and not self.source.completions:
            self.outcome = GoBack("answer")
        return self._end(said, _asked_nothing(state), {"decision": "answer"})

    def _complete(self, done: Completion, text: str, state: JsonObject) -> End:
        """COMPLETE fires, once (H14)."""
        scope = self._scope(state)
        values = {**values_of(state), **assign(done.assignments, scope)}
        words = DONE if done.respond is None else render(done.respond, {**scope, **values})
        if self.setting.caller is not None:
            self.outcome = GoBack("complete")
        notes = replace(notes_of(state), completed=True, asked="")
        decision: JsonObject = {"decision": "complete", "at": f"{done.file}:{done.line}"}
        return self._end(_joined(text.strip(), words), state_of(values, notes), decision)

    async def _take(self, route: Route, state: JsonObject, *, guarded: bool = False) -> End | None:
        """Hand off by `route`; None if it is refused, or fails and ON_FAILURE goes on."""
        if not guarded and self._guard(route.to, route):
            return None
        carried = carry(route, values_of(state), notes_of(state), self._scope(state))
        answer = None
        if route.remote is not None:
            try:
                answer = await self.setting.reach(route, carried, tool_rows(self._transcript))
            except ModelError as error:
                return self._failed(route, str(error), state)
        self.outcome = HandOff(route, carried, answer)
        return self._end(None, _asked_nothing(state), {"decision": "handoff", "to": route.to, "route": route.place})

    def _failed(self, route: Route, problem: str, state: JsonObject) -> End | None:
        """A remote target did not accept: what ON_FAILURE says (H11)."""
        action = route.on_failure.action
        self.events.append(FailedHandoff(*self._head(route), action=action, problem=problem))
        decision: JsonObject = {"decision": "answer", "failed": route.place}
        if action == "respond":
            return self._end(render(route.on_failure.text, self._scope(state)), _asked_nothing(state), decision)
        if action == "escalate":
            self.outcome = Escalate()
            return self._end(TO_A_PERSON, _asked_nothing(state), decision)
        return None

    def _guard(self, to: str, route: Route | None) -> str:
        """The sentence by which a handoff is refused, noted as an event; empty if it is not (H10)."""
        found = self.setting.refused(to, route is not None and route.remote is not None)
        if found is None:
            return ""
        why, problem = found
        head = self._head(route) if route is not None else (0, self.source.name, to, self.setting.thread, self.turn, "")
        self.events.append(RefusedHandoff(*head, why=why, problem=problem))
        return problem

    # The answers

    async def answer(self, step: int, call: ToolCall, state: JsonObject) -> Answered:
        """The result of one call: the runtime's own, or one of the agent's tools."""
        if call.name == UNDERSTAND:
            return self._noted(call, state)
        if self._phase == "understand":
            return _error(call, f"call {UNDERSTAND} first")
        if call.name.startswith(HANDOFF):
            return self._handed(call)
        if call.name == RETURN and self.setting.caller is not None:
            self._returning = True
            return Answered(ToolResult(call.id, call.name, {"back to": self.setting.caller.name}))
        bound = self.setting.speaker.tools.get(call.name)
        if bound is None:
            names = [spec.name for spec in self._offered()]
            return _error(call, as_text(tools.unknown_tool(call.name, names).output))
        outcome = await bound.callee.call(call.arguments, values_of(state))
        result = ToolResult(call.id, call.name, outcome.output, outcome.error, abandoned=outcome.abandoned)
        return Answered(result, {name: value for name, value in outcome.writes.items() if name != KEY})

    def when_cancelled(self, call: ToolCall) -> WhenCancelled:
        bound = self.setting.speaker.tools.get(call.name)
        return bound.callee.when_cancelled if bound is not None else "ends"

    def _noted(self, call: ToolCall, state: JsonObject) -> Answered:
        if self._said is not None:
            return _error(call, "noted already; go on")
        if isinstance(call.arguments, str):
            return _error(call, "the arguments are no JSON object")
        writes = self._note(Understood.of(call.arguments), state)
        noted: dict[str, Json] = {"noted": sorted(set(writes) - {KEY})}
        if self._refused:
            noted["not usable"] = {name: f"it {why}" for name, why in self._refused.items()}
        return Answered(ToolResult(call.id, call.name, noted), writes)

    def _note(self, said: Understood, state: JsonObject) -> dict[str, Json]:
        """Take in what the message says; returns what changes in the state (H15)."""
        self._said = said
        filled = fill(self.source, notes_of(state), said, self.place)
        self._filled, self._refused = bool(filled.values), filled.refused
        writes: dict[str, Json] = {**filled.values, KEY: filled.notes.json()}
        intent = _named(said.intent, [one.name for one in intents_of(self.source)])
        if intent is not None and (not filled.answered or self._asks()):  # a question is more than an answer
            writes["intent"] = {"category": intent}
        return writes

    def _handed(self, call: ToolCall) -> Answered:
        known = self._handoffs().get(call.name)
        route = known[0] if known is not None else None
        if self._chosen is not None:
            return _error(call, f"the conversation goes to {self._chosen.to} already")
        if route is None and not any(one.to == call.name.removeprefix(HANDOFF) for one in self.source.routes):
            problem = self._guard(call.name.removeprefix(HANDOFF), None)
            return _error(call, problem or f"there is no route {call.name}")
        if route is None:
            return _error(call, f"{call.name} is not offered now")
        problem = self._guard(route.to, route)
        if problem:
            return _error(call, problem)
        self._chosen = route
        return Answered(ToolResult(call.id, call.name, {"handing over to": route.to}))

    # What both need

    def _leaves(self) -> str | None:
        """The caller's intent that the message has, if it is for the caller and not for this child (H14)."""
        said, caller = self._said, self.setting.caller
        if said is None or caller is None or self.setting.first or self._filled:
            return None
        intent = _named(said.caller_intent, [one.name for one in caller.intents])
        return intent if intent is not None and intent != self.setting.led_by else None

    def _asks(self) -> bool:
        said = self._said
        if said is None:
            return False
        return said.question if said.question is not None else is_question(self.setting.message)

    def _completion(self, state: JsonObject) -> Completion | None:
        return None if notes_of(state).completed else completion(self.source, self._scope(state))

    def _handoffs(self) -> dict[str, tuple[Route, ToolSpec]]:
        """The prose routes that may be taken now."""
        routes = (
            route
            for route in self.setting.speaker.offered_routes
            if route.to not in self._unreachable and self.setting.refused(route.to, route.remote is not None) is None
        )
        return handoff_tools(routes)

    def _offered(self) -> tuple[ToolSpec, ...]:
        back = (return_tool(),) if self.setting.caller is not None else ()
        return (*self.setting.speaker.specs, *(spec for _, spec in self._handoffs().values()), *back)

    def _list_of_intents(self) -> str:
        listed = "\n".join(f"- {one.name.replace('_', ' ')}: {one.description}" for one in self.source.intents)
        return f"I can help with:\n{listed}"

    def _scope(self, state: JsonObject) -> dict[str, Json]:
        return scope_of(values_of(state), self.setting.message)

    def _head(self, route: Route) -> tuple[int, str, str, str, str, str]:
        return 0, self.source.name, route.to, self.setting.thread, self.turn, route.place

    def _ask(self, offered: tuple[ToolSpec, ...], state: JsonObject) -> Ask:
        nudge, self._nudge = self._nudge, ""
        return Ask(offered, nudge=nudge, writes=state)

    def _end(self, answer: str | None, state: JsonObject, decision: JsonObject) -> End:
        passes_on = isinstance(self.outcome, HandOff | Leave)
        said = _joined("" if passes_on else self.setting.opening, answer or "")
        return End(said or None, tool_rows(self._transcript), state, decision)


def _asked_nothing(state: JsonObject) -> dict[str, Json]:
    notes: Notes = notes_of(state)
    return state_of(values_of(state), replace(notes, asked="")) if notes.asked else dict(state)


def _joined(one: str, other: str) -> str:
    return "\n".join(part for part in (one, other) if part)


def _named(name: str | None, names: Sequence[str]) -> str | None:
    """The name that a model meant, whatever its case; None if it is none of them."""
    return next((one for one in names if name is not None and one.casefold() == name.casefold()), None)


def _read_text(text: str) -> Understood:
    """What a model noted that wrote JSON instead of making the call; nothing if it wrote something else."""
    start, end = text.find("{"), text.rfind("}")
    try:
        return Understood.of(json.loads(text[start : end + 1])) if 0 <= start < end else Understood()
    except (ValueError, RecursionError):
        return Understood()


def _last_text(transcript: Sequence[Item]) -> str:
    return next((item.text.strip() for item in reversed(transcript) if isinstance(item, AssistantStep)), "")


def _error(call: ToolCall, why: str) -> Answered:
    return Answered(ToolResult(call.id, call.name, why, error=True))
