"""A conversation somebody already has, as rows: where each came from, what it was read as, what was not carried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from runtime.values.messages import NewMessage
from runtime.values.request import ToolSpec

Format = Literal[
    "openai-chat", "ollama", "openai-responses", "agents-sdk", "anthropic", "claude-code", "codex", "gemini",
    "adk-session", "adk-evalset", "langchain", "pydantic-ai", "sharegpt", "otel-genai", "openinference", "chatgpt",
    "claude-ai", "open-webui", "vercel", "letta", "inspect",
]  # fmt: skip

Compaction = Literal["full", "last-seen"]
"""Of a session that was compacted: the whole file, or what the model was last given."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Something of the file that the rows do not carry, or that they carry changed: what, how often, why."""

    what: str
    count: int
    reason: str

    def __str__(self) -> str:
        return f"{self.count} x {self.what}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Detected:
    """The format of a file, told from its content, and the reason in words."""

    format: Format
    why: str


@dataclass(frozen=True, slots=True)
class Listed:
    """One conversation of a file: its number from 1 (what `pick` takes), title, messages, and where it begins.

    `aside` marks the side chain of a sub-agent, which is not taken unless it is picked.
    """

    number: int
    title: str
    messages: int
    source: str
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """The rows of one conversation, oldest first, each with its `source` (a line, a JSON pointer, or both).

    Rows flagged `summary` stand where a session was compacted: what came before was not sent any more. `number`
    and `of` tell which of the file's conversations it is. `tools` and `model` are those of a saved request body.
    """

    messages: Sequence[NewMessage]
    detected: Detected
    file: str = ""
    title: str = ""
    model: str = ""
    tools: tuple[ToolSpec, ...] = ()
    lost: tuple[Lost, ...] = ()
    number: int = 1
    of: int = 1

    @property
    def format(self) -> Format:
        return self.detected.format

    def marked(self) -> tuple[Lost, ...]:
        """The rows that are kept but are no plain speech: how many of each mark, and what it means."""
        counts = Counter(flag for row in self.messages if row.flags for flag in row.flags)
        return tuple(Lost(f"{flag} message", counts[flag], reason) for flag, reason in _MARKS.items() if counts[flag])


_MARKS: Mapping[str, str] = {
    "summary": "what a program wrote in place of the messages before it; nobody said it",
    "hidden": "taken back or hidden by the program: not sent any more",
    "injected": "put in by the program, not said by the user",
    "sidechain": "of a sub-agent's branch",
    "retry": "a request to try again, made by the program",
    "developer": "said with the role `developer`",
}
