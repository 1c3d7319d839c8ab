"""pydantic-ai's ModelMessages: requests and responses whose parts are prompts, calls, results and answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.transcripts.rows import Rows, Said
from runtime.transcripts.shapes import either, numbered, obj, objs, plain, seq, txt
from runtime.values.json import as_text


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """What holds `messages`."""
    add_messages(rows, numbered(body.get("messages"), f"{pointer}/messages"))


def add_messages(rows: Rows, messages: Iterable[tuple[object, str]]) -> None:
    """Messages in order. `instructions` of a request become a system message once, and again when they change."""
    instructions = ""
    for value, source in messages:
        message = obj(value)
        given = txt(message.get("instructions"))
        if given and given != instructions:
            rows.say("system", given, source=source.strip())
            instructions = given
        if message.get("kind") == "response":
            rows.model = rows.model or txt(message.get("model_name"))
            _response(rows, objs(message.get("parts")), source.strip())
        else:
            for part in objs(message.get("parts")):
                _request_part(rows, part, source.strip())


def _request_part(rows: Rows, part: Mapping[str, object], source: str) -> None:
    match txt(part.get("part_kind")):
        case "system-prompt":
            rows.say("system", txt(part.get("content")), source=source)
        case "user-prompt":
            said = Said()
            content = part.get("content")
            for entry in [content] if isinstance(content, str) else seq(content):
                _prompt(rows, said, entry)
            rows.add("user", said, source=source)
        case "tool-return" | "builtin-tool-return" | "native-tool-return":
            failed = part.get("outcome") in ("failed", "denied")
            text = _text(part.get("content"))
            rows.result(part.get("tool_call_id"), part.get("tool_name"), text, source=source, error=failed)
        case "retry-prompt" if part.get("tool_name"):
            text = _text(part.get("content"))
            rows.result(part.get("tool_call_id"), part.get("tool_name"), text, source=source, error=True)
        case "retry-prompt":
            rows.say("user", _text(part.get("content")), source=source, flags=("retry",))
        case other:
            rows.lose(f"request part {other[:40]!r}", "not known here")


def _prompt(rows: Rows, said: Said, entry: object) -> None:
    if isinstance(entry, str):
        said.texts.append(entry)
        return
    part = obj(entry)
    kind = txt(part.get("kind"))
    if kind.endswith("-url"):
        rows.media(said, kind.removesuffix("-url").replace("document", "file"), part.get("url"), part.get("media_type"))
    elif kind == "binary":
        media = txt(part.get("media_type"))
        rows.media(said, "image" if media.startswith("image/") else "file", None, media)
    elif isinstance(part.get("content"), str):
        said.texts.append(txt(part["content"]))
    else:
        rows.lose(f"prompt part {kind[:40]!r}", "not known here")


def _response(rows: Rows, parts: list[Mapping[str, object]], source: str) -> None:
    """One assistant message, and the results of tools that ran at the provider."""
    said = Said()
    ran: list[Mapping[str, object]] = []
    for part in parts:
        kind = txt(part.get("part_kind"))
        if kind == "text":
            said.texts.append(txt(part.get("content")))
        elif kind == "thinking":
            said.reasoning(part.get("content"), signature=part.get("signature"))
        elif kind.endswith("tool-call"):
            said.calls.append(rows.call(part.get("tool_call_id"), part.get("tool_name"), part.get("args")))
        elif kind.endswith("tool-return"):
            ran.append(part)
        elif kind == "file":
            content = obj(part.get("content"))
            rows.media(said, "file", None, content.get("media_type"))
        elif kind == "compaction":
            rows.restart(txt(part.get("content")) or "[compacted by the provider]", source=source)
        else:
            rows.lose(f"response part {kind[:40]!r}", "not known here")
    if not said.empty or not ran:
        rows.add("assistant", said, source=source)
    for part in ran:
        rows.result(either(part, "tool_call_id"), part.get("tool_name"), _text(part.get("content")), source=source)


def _text(value: object) -> str:
    return "" if value is None else as_text(plain(value))
