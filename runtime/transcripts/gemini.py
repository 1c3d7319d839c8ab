"""The payload of Gemini: contents with parts, in camelCase or snake_case, where a role says little.

Results come as parts of a `user`, `function` or `tool` content and are told by the part. Calls often have no id and
are paired by name and order. Old dumps write every field that is unset as null.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from runtime.transcripts.rows import Rows, Said, tools_of
from runtime.transcripts.shapes import either, numbered, obj, objs, plain, txt
from runtime.values.json import JsonObject, as_text


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """A request body: `contents`, `systemInstruction`, `tools`."""
    rows.model = rows.model or txt(body.get("model"))
    tools_of(rows, body.get("tools"))
    system = either(body, "systemInstruction", "system_instruction")
    text = (
        system
        if isinstance(system, str)
        else "\n".join(txt(part.get("text")) for part in objs(obj(system).get("parts")))
    )
    if text:
        rows.say("system", text, source=f"{pointer}/systemInstruction".strip())
    contents = body.get("contents")
    if isinstance(contents, str):
        rows.say("user", contents, source=f"{pointer}/contents".strip())
    add_messages(rows, numbered(contents, f"{pointer}/contents"))


def add_messages(rows: Rows, messages: Iterable[tuple[object, str]]) -> None:
    """Contents in order, each with its source."""
    for message, source in messages:
        add(rows, message, source.strip())


def add(
    rows: Rows, value: object, source: str, *, parts: tuple[JsonObject, ...] = (), flags: tuple[str, ...] = ()
) -> None:
    """One content: its results first, then what else it says. `parts` and `flags` are added to the message."""
    content = obj(value)
    said, results = Said(), 0
    for part in objs(content.get("parts")):
        response = obj(either(part, "functionResponse", "function_response"))
        if response:
            results += 1
            output = response.get("response")
            text = as_text(plain(output)) if output is not None else ""
            failed = "error" in obj(output)
            rows.result(response.get("id"), response.get("name"), text, source=source, error=failed)
        else:
            _part(rows, said, part)
    if results and said.empty:
        return
    said.parts += parts
    speaker = txt(content.get("role"))
    role = (
        "assistant" if speaker in ("model", "assistant") or said.calls else "system" if speaker == "system" else "user"
    )
    rows.add(
        "assistant" if role == "assistant" else "system" if role == "system" else "user",
        said,
        source=source,
        flags=flags,
    )


def _part(rows: Rows, said: Said, part: Mapping[str, object]) -> None:
    call = obj(either(part, "functionCall", "function_call"))
    inline = obj(either(part, "inlineData", "inline_data"))
    file = obj(either(part, "fileData", "file_data"))
    code = obj(either(part, "executableCode", "executable_code"))
    ran = obj(either(part, "codeExecutionResult", "code_execution_result"))
    if call:
        said.calls.append(rows.call(call.get("id"), call.get("name"), call.get("args")))
    elif inline:
        kind = txt(either(inline, "mimeType", "mime_type"))
        data = f"data:{kind};base64,{txt(inline.get('data'))}" if inline.get("data") else None
        rows.media(said, _media(kind), data, kind, either(inline, "displayName", "display_name"))
    elif file:
        kind = txt(either(file, "mimeType", "mime_type"))
        rows.media(said, _media(kind), either(file, "fileUri", "file_uri"), kind)
    elif code:
        said.texts.append(f"```{txt(code.get('language')).lower()}\n{txt(code.get('code'))}\n```")
    elif ran:
        said.texts.append(f"```\n{txt(ran.get('output'))}\n```")
    elif part.get("thought") is True:
        said.reasoning(part.get("text"))
    elif isinstance(part.get("text"), str):
        said.texts.append(txt(part["text"]))
    elif any(value is not None for value in part.values()):
        rows.lose(f"part {min(key for key, value in part.items() if value is not None)[:40]!r}", "not known here")


def _media(kind: str) -> str:
    return kind.split("/", 1)[0] if kind.startswith(("image/", "audio/", "video/")) else "file"
