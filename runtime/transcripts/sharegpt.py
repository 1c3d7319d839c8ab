"""ShareGPT, a convention of fine-tuning sets: turns with `from` and `value`, calls and results as turns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.errors import BadInput
from runtime.transcripts import openai_chat
from runtime.transcripts.rows import Rows, Said, tools_of
from runtime.transcripts.shapes import decoded, numbered, obj, plain, txt
from runtime.values.json import as_text

USERS = ("human", "user")
ASSISTANTS = ("gpt", "chatgpt", "assistant", "bing", "bard", "model")
RESULTS = ("tool", "observation", "function_response", "tool_response")
CALLS = ("function_call", "tool_call")


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """One dialogue: `conversations`, and beside it `system` and `tools` (JSON in a text)."""
    tools = body.get("tools")
    tools_of(rows, decoded(tools) if isinstance(tools, str) else tools)
    if txt(body.get("system")):
        rows.say("system", txt(body["system"]), source=f"{pointer}/system".strip())
    if isinstance(body.get("images"), list) and body["images"]:
        rows.lose("image", "named beside the conversation, not in a message", len(body["images"]))  # type: ignore[arg-type]  # a list, as just asked
    key = "conversations" if "conversations" in body else "conversation"
    add_messages(rows, numbered(body.get(key), f"{pointer}/{key}"))


def add_messages(rows: Rows, messages: Iterable[tuple[object, str]]) -> None:
    """Turns in order, each with its source. Raises BadInput for a `from` that is not known (C73)."""
    for message, source in messages:
        _add(rows, obj(message), source.strip())


def _add(rows: Rows, turn: Mapping[str, object], source: str) -> None:
    if "from" not in turn and "role" in turn:
        openai_chat.add(rows, turn, source)
        return
    speaker = txt(turn.get("from"))
    value = turn.get("value")
    text = "" if value is None else as_text(plain(value))
    if speaker in USERS:
        rows.say("user", text, source=source)
    elif speaker in ASSISTANTS:
        rows.say("assistant", text, source=source)
    elif speaker == "system":
        rows.say("system", text, source=source)
    elif speaker in RESULTS:
        rows.result(None, turn.get("name"), text, source=source)
    elif speaker in CALLS:
        _calls(rows, text, source)
    else:
        raise BadInput(
            f"`from` is {speaker[:40]!r}: one of human, gpt, system, function_call, observation", field=source
        )


def _calls(rows: Rows, text: str, source: str) -> None:
    """Calls written as JSON: one object, or a list of them for parallel calls."""
    made = decoded(text)
    said = Said()
    for entry in made if isinstance(made, list) else [made]:
        call = obj(entry)
        if call:
            said.calls.append(rows.call(call.get("id"), call.get("name"), call.get("arguments")))
    if not said.calls:
        said.texts.append(text)
        rows.lose("call that is not JSON", "kept as text")
    rows.add("assistant", said, source=source)
