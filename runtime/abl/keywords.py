"""The section keywords of ABL: which may stand once, and which this runtime executes."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

DOCUMENTS: Final = ("AGENT", "SUPERVISOR", "BEHAVIOR_PROFILE")
"""The keywords that name what a file holds."""

SINGLETONS: Final = frozenset(
    {
        "AGENT", "SUPERVISOR", "BEHAVIOR_PROFILE", "VERSION", "DESCRIPTION", "LANGUAGE", "GOAL", "PERSONA", "IDENTITY",
        "CONVERSATION", "FLOW", "STEPS", "ESCALATE", "ON_START", "EXECUTION", "MESSAGES", "HOOKS", "MULTI_INTENT",
        "NLU", "SYSTEM_PROMPT", "BEHAVIOR",
    }
)  # fmt: skip
"""Sections of which the first counts and a second is an E344. All others append."""

EXECUTED: Final = frozenset(
    {
        "AGENT", "SUPERVISOR", "VERSION", "DESCRIPTION", "LANGUAGE", "GOAL", "PERSONA", "LIMITATIONS", "INSTRUCTIONS",
        "IDENTITY", "SYSTEM_PROMPT", "EXECUTION", "BEHAVIOR", "ON_START", "TEMPLATES", "TEMPLATE", "TOOLS", "GATHER",
        "MEMORY", "INTENTS", "HANDOFF", "RETURN_HANDLERS", "COMPLETE",
    }
)  # fmt: skip

KEPT: Final = frozenset(
    {
        "BEHAVIOR_PROFILE", "CONVERSATION", "HOOKS", "ON_ERROR", "MESSAGES", "ACTION_HANDLERS", "USE", "ENTITIES",
        "LOOKUP_TABLES", "ATTACHMENTS", "DESTINATIONS", "CONSTRAINTS", "GUARDRAILS", "NLU", "MULTI_INTENT", "DELEGATE",
        "ESCALATE", "TRANSFER_FLOW_POLICIES", "FLOW", "STEPS", "AGENTS", "TESTS", "ROUTING", "STATE", "POLICIES",
        "COMMUNICATION",
    }
)  # fmt: skip
"""Sections that are read, kept and reported as I350."""

SECTIONS: Final = EXECUTED | KEPT

_MOST_NAMED: Final = 9

INSTEAD: Final = {
    "MODE": "write EXECUTION, and BEHAVIOR with a role",
    "MODEL": "write EXECUTION with a model: line below it",
    "HISTORY": "write it in a HANDOFF entry",
    "PASS": "write it in a HANDOFF entry",
    "SUMMARY": "write it in a HANDOFF entry",
    "CONTEXT": "write it in a HANDOFF entry",
    "RESPOND": "write it in a COMPLETE entry or in ON_START",
    "ROLE": "write BEHAVIOR with a role: line below it",
    "SESSION": "write MEMORY with a session: line below it",
}
"""Keys that people write at the margin, and what to do instead."""


def advice(keyword: str) -> str:
    """What to write instead of an unknown section keyword."""
    upper = keyword.upper()
    if upper in SECTIONS:
        return f"write {upper}"
    if upper in INSTEAD:
        return INSTEAD[upper]
    near = get_close_matches(upper, sorted(SECTIONS), 1, 0.75)
    return f"write {near[0]}" if near else "write one of " + ", ".join(sorted(EXECUTED))


def key_advice(key: str, known: tuple[str, ...]) -> str:
    """What to write instead of an unknown key where `known` ones are read."""
    near = get_close_matches(key.lower(), [name.lower() for name in known], 1, 0.75)
    if near:
        return "write " + next(name for name in known if name.lower() == near[0])
    return "leave it out, or write one of " + ", ".join(known[:_MOST_NAMED])
