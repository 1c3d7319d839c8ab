"""The payload of OpenAI's Responses: a flat list of items, where calls, results and reasoning are items of their own.

Consecutive calls, with the reasoning before them, become one assistant message. Calls and outputs are joined by
`call_id`. The Agents SDK keeps the same items in its sessions and run states; Codex keeps them in its rollouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from runtime.transcripts.openai_chat import ROLES
from runtime.transcripts.rows import Rows, Said, tools_of
from runtime.transcripts.shapes import either, numbered, obj, objs, plain, seq, txt
from runtime.values.json import as_text

HOSTED = ("web_search_call", "file_search_call", "code_interpreter_call", "computer_call", "image_generation_call")
CALLS = ("function_call", "custom_tool_call", "local_shell_call", "shell_call", "apply_patch_call", "computer_call")


def add_body(rows: Rows, body: Mapping[str, object], pointer: str) -> None:
    """A request (`input`, `instructions`), a response (`output`), both, or a run state of the Agents SDK."""
    rows.model = rows.model or txt(body.get("model"))
    tools_of(rows, body.get("tools"))
    for key in ("previous_response_id", "conversation"):
        if body.get(key):
            rows.lose("earlier messages", f"the body goes on from a {key.replace('_', ' ')} that is not in the file")
    if txt(body.get("instructions")):
        rows.say("system", txt(body["instructions"]), source=f"{pointer}/instructions".strip())
    reading = Items(rows)
    for key in ("input", "original_input"):
        if txt(body.get(key)):
            rows.say("user", txt(body[key]), source=f"{pointer}/{key}".strip())
        reading.add_all(numbered(body.get(key), f"{pointer}/{key}"))
    reading.add_all(numbered(body.get("output"), f"{pointer}/output"))
    for item, place in numbered(body.get("generated_items"), f"{pointer}/generated_items"):
        reading.add(obj(item).get("raw_item"), f"{place}/raw_item".strip())
    reading.end()


def add_messages(rows: Rows, items: Iterable[tuple[object, str]]) -> None:
    """Items in order, each with its source."""
    reading = Items(rows)
    reading.add_all(items)
    reading.end()


@dataclass(slots=True)
class Items:
    """Items on their way into rows: what the next assistant message will hold, and the calls met."""

    rows: Rows
    said: Said = field(default_factory=Said)
    source: str = ""
    met: set[str] = field(default_factory=set)

    def add_all(self, items: Iterable[tuple[object, str]]) -> None:
        for item, source in items:
            self.add(item, source.strip())

    def end(self) -> None:
        """Write what is still gathered."""
        if not self.said.empty:
            self.rows.add("assistant", self.said, source=self.source)
        self.said, self.source = Said(), ""

    def add(self, value: object, source: str) -> None:
        """One item."""
        item = obj(value)
        kind = txt(item.get("type"))
        if kind == "reasoning":
            self._reasoning(item, source)
        elif kind.endswith(("_call_output", "program_output")):
            self._output(item, source)
        elif kind == "tool_result":
            self._output({**item, "output": either(item, "output", "result")}, source)
        elif kind in CALLS or kind in ("mcp_call", "tool_call"):
            self._call(item, source)
        elif kind.endswith("_call") or kind in HOSTED:
            self._gather(source).texts.append(f"[{kind}: {txt(item.get('status')) or 'no status'}]")
            self.rows.lose(kind, "run by the provider: its result is not in the file")
        elif kind == "compaction":
            self.end()
            self.rows.lose("compacted history", "encrypted by the provider")
            self.rows.restart("[compacted by the provider; the summary is encrypted]", source=source)
        elif kind in ("message", "agent_message", "") and item.get("role"):
            self._message(item, source)
        else:
            self.rows.lose(f"item {kind[:40]!r}", "not a message, call or result")

    def _message(self, item: Mapping[str, object], source: str) -> None:
        role = ROLES.get(txt(item.get("role")))
        if role is None or role == "tool":
            self.end()
            self.rows.lose(f"item with the role {txt(item.get('role'))[:40]!r}", "not a message of the conversation")
            return
        if role != "assistant" or self.said.calls or self.said.texts:
            self.end()
        said = self.said if role == "assistant" else Said()
        content(self.rows, said, item.get("content"))
        self.said, self.source = Said(), ""
        self.rows.add(role, said, source=source, flags=("developer",) if item.get("role") == "developer" else ())

    def _gather(self, source: str) -> Said:
        self.source = self.source or source
        return self.said

    def _reasoning(self, item: Mapping[str, object], source: str) -> None:
        if self.said.calls or self.said.texts:
            self.end()
        pieces = [*objs(item.get("summary")), *objs(item.get("content"))]
        text = "\n".join(txt(piece.get("text")) for piece in pieces if txt(piece.get("text")))
        if text:
            self._gather(source).reasoning(text)
        else:
            self.rows.lose("reasoning", "encrypted by the provider")

    def _call(self, item: Mapping[str, object], source: str) -> None:
        kind = txt(item.get("type"))
        id = txt(either(item, "call_id", "id"))
        if id and id in self.met:
            self.rows.lose("call told twice", "kept once")
            return
        self.met.add(id)
        name = either(item, "name") or obj(item.get("function")).get("name") or kind.removesuffix("_call")
        arguments = either(item, "arguments", "input", "action", "operation") or obj(item.get("function")).get(
            "arguments"
        )
        self._gather(source).calls.append(self.rows.call(id, name, arguments))
        if kind == "mcp_call" and (item.get("output") is not None or item.get("error")):
            self.end()
            failed = bool(item.get("error"))
            text = as_text(plain(item["error"] if failed else item["output"]))
            self.rows.result(id, name, text, source=source, error=failed)

    def _output(self, item: Mapping[str, object], source: str) -> None:
        self.end()
        said = Said()
        output = item.get("output")
        if isinstance(output, str | list):
            content(self.rows, said, output)
        else:
            said.texts.append(as_text(plain(output)) if output is not None else "")
        self.rows.result(either(item, "call_id"), item.get("name"), said.text, source=source, parts=said.parts)


def content(rows: Rows, said: Said, value: object) -> None:
    """A text, or blocks of text, pictures and files."""
    if isinstance(value, str):
        said.texts.append(value)
    for entry in seq(value):
        if isinstance(entry, str):
            said.texts.append(entry)
            continue
        block = obj(entry)
        match txt(block.get("type")):
            case "input_text" | "output_text" | "text" | "summary_text" | "reasoning_text":
                said.texts.append(txt(block.get("text")))
            case "refusal":
                said.texts.append(txt(block.get("refusal")))
                said.parts.append({"type": "refusal", "text": txt(block.get("refusal"))})
            case "input_image" | "computer_screenshot":
                url = block.get("image_url")
                rows.media(
                    said, "image", either(obj(url), "url") if isinstance(url, dict) else url or block.get("file_id")
                )
            case "input_file":
                rows.media(said, "file", either(block, "file_data", "file_url", "file_id"), None, block.get("filename"))
            case "input_audio":
                rows.media(said, "audio", obj(block.get("input_audio")).get("data"))
            case other:
                rows.lose(f"content block {other[:40]!r}", "not known here")
