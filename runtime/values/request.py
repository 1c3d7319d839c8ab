"""What a model is given for one step (M1): sections, brief, transcript, tools, limits. Recorded as it was sent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from runtime.values.items import Item
from runtime.values.json import JsonObject

SectionName = Literal["instructions", "state", "history", "request"]


@dataclass(frozen=True, slots=True)
class Section:
    """One section of the opening context, in the order of A1; never empty."""

    name: SectionName
    text: str


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as offered to a model. `schema` is the JSON Schema of its arguments object."""

    name: str
    description: str
    schema: JsonObject


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file sent with a request: an image as base64 `data` of `media_type`."""

    name: str
    media_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Limits:
    """A tier's room in tokens: the whole context, and what of it is kept for the answer (F1)."""

    context_tokens: int = 8192
    reserve_tokens: int = 1024


@dataclass(frozen=True, slots=True)
class Request:
    """The complete request of one step. `step` and `tier` count from 1; `brief` is the request's text (A4).

    `number` is the turn's place among its thread's root turns, from 1; 0 when it has none (runs, children).
    `must_call` is the one tool that this step has to call, empty if the model is free.
    """

    sections: tuple[Section, ...]
    brief: str
    transcript: tuple[Item, ...]
    tools: tuple[ToolSpec, ...]
    limits: Limits
    turn: str
    step: int
    tier: int
    attachments: tuple[Attachment, ...] = ()
    number: int = 0
    must_call: str = ""

    def section(self, name: SectionName) -> str:
        """The text of the section `name`, empty if it was left out."""
        return next((section.text for section in self.sections if section.name == name), "")
