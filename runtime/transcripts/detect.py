"""What a conversation is written in, told from its content alone, with the reason in words.

The most specific marks come first: keys that only one program writes, then the shape of messages, then what their
content holds, looked for in every message. Plain text messages are alike in several dialects and are called so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from runtime.transcripts import inspect_log, letta, open_webui, vercel
from runtime.transcripts.conversation import Detected
from runtime.transcripts.openai_chat import ROLES
from runtime.transcripts.shapes import get, obj, objs, seq, txt

ANTHROPIC_BLOCKS: Final = frozenset(
    (
        "tool_use",
        "tool_result",
        "thinking",
        "redacted_thinking",
        "server_tool_use",
        "web_search_tool_result",
        "document",
    )
)
RESPONSES_BLOCKS: Final = frozenset(("input_text", "output_text", "input_image", "input_file"))
RESPONSES_ITEMS: Final = frozenset(
    (
        "function_call", "function_call_output", "reasoning", "custom_tool_call", "custom_tool_call_output",
        "web_search_call", "file_search_call", "code_interpreter_call", "computer_call", "computer_call_output",
        "mcp_call", "mcp_list_tools", "image_generation_call", "shell_call", "shell_call_output", "local_shell_call",
        "local_shell_call_output", "apply_patch_call", "apply_patch_call_output", "item_reference", "compaction",
        "program", "program_output",
    )
)  # fmt: skip
LANGCHAIN_TYPES: Final = frozenset(
    ("human", "ai", "system", "tool", "function", "chat", "remove", "developer", "AIMessageChunk", "HumanMessageChunk")
)
SPAN_PREFIXES: Final = ("gen_ai.", "llm.", "openinference.", "pydantic_ai.", "input.", "output.")

_UNREAD: Final[Mapping[str, str]] = {"chunkedPrompt": "an AI Studio prompt"}


def detect(value: object) -> Detected | None:
    """The format of one conversation: an object that holds it, or a list of its messages. None if it is none."""
    if isinstance(value, list):
        return of_messages(objs(value))
    found = obj(value)
    return _of_envelope(found) or _of_body(found) if found else None


def unread(value: object) -> str:
    """What `value` is recognised as although it cannot be read here; empty if it is not."""
    found = obj(value)
    return next((name for key, name in _UNREAD.items() if isinstance(found.get(key), dict | list)), "")


def of_messages(messages: Sequence[Mapping[str, object]]) -> Detected | None:
    """The format of a list of messages or items."""
    return _of_shape(messages) or _of_content(messages)


def is_message(value: object) -> bool:
    """Whether `value` is one message or item of a conversation, rather than a whole one."""
    found = obj(value)
    if _is_langchain(found) or _is_pydantic(found):
        return True
    if isinstance(found.get("from"), str) and "value" in found:
        return True
    return isinstance(found.get("role"), str) or txt(found.get("type")) in RESPONSES_ITEMS


def is_span(value: object) -> bool:
    """Whether `value` is a span, or an export of spans."""
    found = obj(value)
    if "resourceSpans" in found or "resource_spans" in found:
        return True
    if found.get("attributes") is None:
        bare = ("attributes.", "gen_ai.", "llm.", "openinference.span")
        return any(key.startswith(bare) for key in found)
    names = _attribute_names(found["attributes"])
    return any(name.startswith(SPAN_PREFIXES) for name in names)


def _attribute_names(attributes: object) -> Iterable[str]:
    if isinstance(attributes, dict):
        return [name if not isinstance(inner, dict) else f"{name}." for name, inner in attributes.items()]
    return [txt(entry.get("key")) for entry in objs(attributes)]


def _of_envelope(found: Mapping[str, object]) -> Detected | None:
    """Keys that one program writes around its messages."""
    if isinstance(found.get("loglines"), list):
        return Detected("claude-code", "it holds `loglines` of a coding session")
    if isinstance(found.get("mapping"), dict):
        return Detected("chatgpt", "it holds a `mapping` of message nodes")
    if isinstance(found.get("chat_messages"), list):
        return Detected("claude-ai", "it holds `chat_messages`")
    if open_webui.history_of(found):
        return Detected("open-webui", "its `history` holds messages by id")
    if letta.is_agent(found):
        return Detected("letta", "an agent's messages and the ids of those in its context")
    if inspect_log.is_sample(found):
        return Detected("inspect", "it is a sample with an `epoch` and its messages")
    turns = objs(found.get("conversations")) or objs(found.get("conversation"))
    if any("from" in turn and "value" in turn for turn in turns):
        return Detected("sharegpt", "`conversations` hold `from` and `value`")
    if "eval_cases" in found or "evalCases" in found:
        return Detected("adk-evalset", "it holds `eval_cases`")
    if "eval_id" in found and ("conversation" in found or "session_input" in found):
        return Detected("adk-evalset", "it is a case with an `eval_id`")
    events = objs(found.get("events"))
    if events and all("author" in event for event in events):
        return Detected("adk-session", "every event has an `author`")
    if isinstance(found.get("events"), list) and ("appName" in found or "app_name" in found):
        return Detected("adk-session", "it holds `events` of an app")
    if "$schemaVersion" in found and ("original_input" in found or "generated_items" in found):
        return Detected("agents-sdk", "it is a saved run state with `original_input` and `generated_items`")
    return None


def _of_body(found: Mapping[str, object]) -> Detected | None:
    """A request or response body, or a wrapper around one."""
    if isinstance(found.get("contents"), list):
        return Detected("gemini", "it holds `contents` with `parts`")
    if found.get("object") == "response" or isinstance(found.get("output"), list):
        return Detected("openai-responses", "it is a response object with `output` items")
    if isinstance(found.get("messages"), list):
        messages = objs(found["messages"])
        inner = of_messages(messages)
        if (inner is None or inner.format == "openai-chat") and found.get("system"):
            return Detected("anthropic", "a `system` text stands beside `messages`")
        if inner is None and not messages:
            return Detected("openai-chat", "it holds an empty list of `messages`")
        return inner
    if isinstance(found.get("input"), list | str) and (
        "instructions" in found or "model" in found or found.keys() <= {"input", "tools"}
    ):
        return Detected("openai-responses", "it is a request with `input` items")
    if isinstance(get(found, "choices", 0, "message"), dict):
        return Detected("openai-chat", "it is a completion with `choices`")
    if found.get("type") == "message" and isinstance(found.get("content"), list):
        return Detected("anthropic", "it is a response with content blocks")
    history = found.get("history")
    if isinstance(history, list) and (inner := of_messages(objs(history))) and inner.format == "openai-chat":
        return Detected("openai-chat", "its `history` holds chat messages")
    for key in ("body", "params", "request", "values"):
        inner = detect(found[key]) if isinstance(found.get(key), dict) else None
        if inner:
            return inner
    return None


def _of_shape(messages: Sequence[Mapping[str, object]]) -> Detected | None:
    if any(_is_pydantic(message) for message in messages):
        return Detected("pydantic-ai", "messages have a `kind` and parts with a `part_kind`")
    if messages and all(_is_langchain(message) for message in messages):
        return Detected("langchain", "messages are typed `human`, `ai` and the like")
    if any("from" in message and "value" in message for message in messages):
        return Detected("sharegpt", "messages hold `from` and `value`")
    if any(vercel.is_message(message) for message in messages):
        return Detected("vercel", "messages have typed `parts` with `text`, or tools as parts")
    parts = [part for message in messages if "content" not in message for part in objs(message.get("parts"))]
    held = any(isinstance(message.get("parts"), list) and "content" not in message for message in messages)
    if held and not any("type" in part for part in parts):
        return Detected("gemini", "messages have `parts` instead of `content`")
    return None


def _of_content(messages: Sequence[Mapping[str, object]]) -> Detected | None:
    """What any message holds, not only the first."""
    blocks = {txt(block.get("type")) for message in messages for block in objs(message.get("content"))}
    if blocks & ANTHROPIC_BLOCKS:
        return Detected("anthropic", f"its messages hold `{min(blocks & ANTHROPIC_BLOCKS)}` blocks")
    items = {txt(message.get("type")) for message in messages}
    if items & RESPONSES_ITEMS:
        return Detected("openai-responses", f"it holds `{min(items & RESPONSES_ITEMS)}` items")
    if blocks & RESPONSES_BLOCKS:
        return Detected("openai-responses", f"its messages hold `{min(blocks & RESPONSES_BLOCKS)}` blocks")
    if any(_is_ollama(message) for message in messages):
        return Detected("ollama", "arguments are objects, results name their tool, or pictures stand beside the text")
    if any(txt(message.get("role")) in ROLES and "parts" not in message for message in messages):
        return Detected("openai-chat", "chat messages with `role` and `content`")
    return None


def _is_pydantic(message: Mapping[str, object]) -> bool:
    if message.get("kind") not in ("request", "response"):
        return False
    parts = seq(message.get("parts"))
    return not parts or any("part_kind" in obj(part) for part in parts)


def _is_langchain(message: Mapping[str, object]) -> bool:
    if message.get("lc") == 1:
        path = seq(message.get("id"))
        return bool(path) and "Message" in txt(path[-1])
    return txt(message.get("type")) in LANGCHAIN_TYPES and "role" not in message


def _is_ollama(message: Mapping[str, object]) -> bool:
    if "tool_name" in message or isinstance(message.get("images"), list):
        return True
    return any(isinstance(get(call, "function", "arguments"), dict) for call in seq(message.get("tool_calls")))
