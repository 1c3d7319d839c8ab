"""How a file's conversations are found in it: one, one per element or line, per trace, or per session of a database."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from runtime.errors import BadInput
from runtime.transcripts import (
    adk,
    anthropic,
    chatgpt,
    claude_ai,
    claude_code,
    codex,
    databases,
    gemini,
    inspect_log,
    langchain,
    letta,
    open_webui,
    openai_chat,
    pydantic_ai,
    responses,
    sharegpt,
    spans,
    vercel,
)
from runtime.transcripts.conversation import Compaction, Detected, Format
from runtime.transcripts.detect import detect, is_message, is_span, unread
from runtime.transcripts.reading import Document, read_whole
from runtime.transcripts.rows import Rows
from runtime.transcripts.shapes import numbered, obj, txt

Placed = Iterable[tuple[object, str]]
"""Values, each with its source."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a conversation is read: from the object that holds it, or from its messages alone."""

    body: Callable[[Rows, Mapping[str, object], str], None]
    messages: Callable[[Rows, Placed], None]


@dataclass(frozen=True, slots=True)
class Unit:
    """One conversation of a file, not yet read: where it begins, and how to read it.

    `read` fills rows and says what the conversation is written in. `glance` gives the first thing the user said and
    the number of messages where that is cheap, else None. `aside` marks a side chain: a sub-agent's own conversation
    beside the main one.
    """

    source: str
    read: Callable[[Rows], Detected]
    glance: Callable[[], tuple[str, int] | None] = lambda: None
    aside: bool = False


def units(document: Document, compaction: Compaction = "full") -> Iterator[Unit]:
    """The conversations of a file in order, one at a time. Raises BadInput if it holds none.

    `compaction` is what will be asked of them: a long session is read only once if it is known beforehand.
    """
    if document.kind == "sqlite":
        return _of_database(document)
    if document.kind == "lines":
        return _of_lines(document, compaction)
    if document.kind == "array":
        return _of_array(document, compaction)
    return _of_value(document, document.value, compaction)


def _chat(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """A chat body, also inside a batch line, a response record or a case of a training set."""
    for key in ("body", "request", "response", "params"):
        if isinstance(body.get(key), dict) and "messages" not in body and "choices" not in body:
            _chat(rows, obj(body[key]), f"{pointer}/{key}")
            return
    openai_chat.add_body(rows, body, pointer)
    images = body.get("images")
    if isinstance(images, list) and images:
        rows.lose("image", "named beside the conversation, not in a message", len(images))


_CHAT: Final = Dialect(_chat, openai_chat.add_messages)
_RESPONSES: Final = Dialect(responses.add_body, responses.add_messages)
DIALECTS: Final[Mapping[Format, Dialect]] = {
    "openai-chat": _CHAT,
    "ollama": _CHAT,
    "openai-responses": _RESPONSES,
    "agents-sdk": _RESPONSES,
    "anthropic": Dialect(anthropic.add_body, anthropic.add_messages),
    "gemini": Dialect(gemini.add_body, gemini.add_messages),
    "adk-session": Dialect(adk.add_session, gemini.add_messages),
    "adk-evalset": Dialect(adk.add_case, gemini.add_messages),
    "langchain": Dialect(langchain.add_body, langchain.add_messages),
    "pydantic-ai": Dialect(pydantic_ai.add_body, pydantic_ai.add_messages),
    "sharegpt": Dialect(sharegpt.add_body, sharegpt.add_messages),
    "chatgpt": Dialect(chatgpt.add_body, openai_chat.add_messages),
    "claude-ai": Dialect(claude_ai.add_body, anthropic.add_messages),
    "open-webui": Dialect(open_webui.add_body, openai_chat.add_messages),
    "vercel": Dialect(vercel.add_body, vercel.add_messages),
    "letta": Dialect(letta.add_body, openai_chat.add_messages),
    "inspect": Dialect(inspect_log.add_body, openai_chat.add_messages),
}


def _of_value(document: Document, value: object, compaction: Compaction) -> Iterator[Unit]:
    """One JSON document: a conversation, a list of them, a trace, a case file, or a session in one object."""
    found = obj(value)
    cases = found.get("eval_cases") or found.get("evalCases")
    if isinstance(cases, list):
        return _several(document, numbered(cases, "/eval_cases"))
    agents = letta.agents_of(value)
    if agents:
        return _several(document, numbered(found.get("agents"), "/agents"))
    if inspect_log.is_log(found):
        return _several(document, numbered(found.get("samples"), "/samples"))
    if isinstance(found.get("loglines"), list):
        lines = partial(numbered, found["loglines"], "/loglines")
        return _of_session(lines, "it holds `loglines` of a coding session", compaction)
    if is_message(value) and "messages" not in found:
        return _several(document, [([value], "")])
    if claude_code.is_record(value):
        return _of_session(lambda: [(value, "line 1")], _CLAUDE, compaction)
    if codex.is_rollout([value]):
        return iter([Unit("", partial(_read_codex, [(value, "line 1")]))])
    if is_span(value):
        return _of_spans(document, [(value, "")])
    if isinstance(value, list) and value and not any(map(is_message, value)):
        if any(map(is_span, value)):
            return _of_spans(document, numbered(value, ""))
        if any(map(claude_code.is_record, value)):
            return _of_session(partial(numbered, value, ""), _CLAUDE, compaction)
        return _several(document, numbered(value, ""))
    return _several(document, [(value, "")])


def _of_array(document: Document, compaction: Compaction) -> Iterator[Unit]:
    """A large array: one conversation an element, read one at a time; of anything else the whole."""
    _, first = next(document.elements(), (0, None))
    if is_message(first) or is_span(first) or claude_code.is_record(first) or not isinstance(first, dict | list):
        whole = read_whole(document)
        return _of_value(whole, whole.value, compaction)
    return _several(document, ((value, f"/{number}") for number, value in document.elements()))


def _of_lines(document: Document, compaction: Compaction) -> Iterator[Unit]:
    """JSONL: a session of one program, spans, one message a line, or one conversation a line."""
    head: list[object] = [value for _, value in islice(document.lines(), 200)]
    placed = _placed(document)
    if codex.is_rollout(head[:20]):
        return iter([Unit("", partial(_read_codex, placed))])
    if any(map(claude_code.is_record, head)):
        return _of_session(partial(_placed, document), _CLAUDE, compaction)
    if any(map(is_span, head)):
        return _of_spans(document, placed)
    if head and is_message(head[0]) and "messages" not in obj(head[0]):
        found = detect(head)
        if found:
            return iter([Unit("", partial(_read_lines, found, placed))])
    return _several(document, placed)


_CLAUDE: Final = "its records are typed `user` or `assistant` and hold a `message`"
_CODEX: Final = "it begins with a `session_meta` record"


def _placed(document: Document) -> Placed:
    return ((value, f"line {number} ") for number, value in document.lines())


def _several(document: Document, values: Placed) -> Iterator[Unit]:
    """One conversation per value; values that are none are passed over if any is one.

    A value with the very keys of one that was a conversation is taken for one, so that a large set is not looked
    into before one of it is read.
    """
    known: dict[frozenset[str], Detected] = {}
    first: object = None
    for value, source in values:
        keys = frozenset(obj(value))
        if not keys or keys not in known:
            detected = detect(value)
            if detected is None:
                first = value if first is None else first
                continue
            known[keys] = detected
        yield Unit(source.strip(), partial(_read, known[keys], value, source), partial(_glance, value))
    if not known:
        raise _nothing(document, first)


def _read(assumed: Detected, value: object, source: str, rows: Rows) -> Detected:
    detected = detect(value) or assumed
    dialect = DIALECTS[detected.format]
    if isinstance(value, list):
        dialect.messages(rows, numbered(value, source))
    else:
        dialect.body(rows, obj(value), source)
    return detected


def _read_lines(detected: Detected, messages: Placed, rows: Rows) -> Detected:
    DIALECTS[detected.format].messages(rows, messages)
    return detected


def _read_codex(records: Placed, rows: Rows) -> Detected:
    codex.add(rows, records)
    return Detected("codex", _CODEX)


def _glance(value: object) -> tuple[str, int] | None:
    """Chat messages whose contents are plain texts, counted without reading them."""
    body = obj(value)
    messages = body.get("messages")
    if not isinstance(messages, list) or "system" in body:
        return None
    said = ""
    for message in messages:
        if not isinstance(message, dict) or txt(message.get("role")) not in openai_chat.ROLES:
            return None
        content = message.get("content")
        if content is not None and not isinstance(content, str):
            return None
        if not said and content and message["role"] == "user":
            said = content
    return said, len(messages)


def _of_session(records: claude_code.Records, why: str, compaction: Compaction) -> Iterator[Unit]:
    session = claude_code.read(records, compaction)
    for part in session.parts():
        detected = Detected("claude-code", f"{why}; a side chain of it" if part.side else why)
        yield Unit(
            part.source,
            partial(_read_session, session, part, detected),
            partial(_glance_session, session, part),
            aside=part.side,
        )


def _read_session(session: claude_code.Session, part: claude_code.Part, detected: Detected, rows: Rows) -> Detected:
    session.add(rows, part.number)
    rows.title = part.title
    return detected


def _glance_session(session: claude_code.Session, part: claude_code.Part) -> tuple[str, int]:
    said, messages = session.glance(part.number)
    return part.title or said, messages


def _of_spans(document: Document, values: Placed) -> Iterator[Unit]:
    traces = spans.traces(spans.spans(values))
    if not traces:
        raise BadInput("these spans hold no model calls", file=str(document.path))
    for trace in traces:
        yield Unit(trace[0].source, partial(_read_trace, trace))


def _read_trace(trace: list[spans.Span], rows: Rows) -> Detected:
    spans.add(rows, trace)
    return spans.detected(trace)


def _of_database(document: Document) -> Iterator[Unit]:
    detected, keys = databases.sessions(document.path)
    if not keys:
        raise BadInput("the database holds no session with messages", file=str(document.path))
    for key in keys:
        yield Unit(f"session {key[-1]}", partial(_read_items, document, key, detected))


def _read_items(document: Document, key: tuple[str, ...], detected: Detected, rows: Rows) -> Detected:
    rows.title = key[-1]
    found = databases.items(document.path, key)
    if len(key) == 1:
        responses.add_messages(rows, found)
        return detected
    first_row: dict[str, int] = {}
    for event, source in found:
        adk.add_event(rows, obj(event), source, first_row)
    return detected


def _nothing(document: Document, value: object) -> BadInput:
    name = unread(value)
    if name:
        return BadInput(f"this looks like {name}, which is not read here", file=str(document.path))
    keys = ", ".join(key[:40] for key in islice(obj(value), 6))
    seen = f"its keys are {keys}" if keys else f"it holds {_kind(value)}"
    return BadInput(f"no conversation was found: {seen}", file=str(document.path))


def _kind(value: object) -> str:
    if isinstance(value, list):
        return f"a list of {len(value)}" if value else "an empty list"
    return "nothing" if value is None else f"a {type(value).__name__}"
