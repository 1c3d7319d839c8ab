"""The one glossary: what the words on the screen mean (Q5)."""

from __future__ import annotations

from typing import Final

GLOSSARY: Final[tuple[tuple[str, str], ...]] = (
    ("thread", "a conversation: messages in the order in which they were stored"),
    ("stored message, row", "one message of a thread; its number (seq) never changes"),
    ("turn", "one run of an agent: a request, model calls, tool calls, and how it ended"),
    ("step", "one model call inside a turn"),
    ("request", "what you ask; it is stored first, so a window of 1 or more selects it too"),
    ("window", "how many of the newest stored messages the model is given; 0 is none, all is every one"),
    ("in≥", "the smallest window that would include this message"),
    ("record", "what was really sent and really happened; it never changes"),
    ("what if", "another window laid over the record: nothing is sent, nothing changes"),
    ("next", "the coming turn: what would be sent if you pressed Enter; not sent"),
    ("re-run", "the same request again, on a view of the thread as it was before it; the thread does not change"),
    ("view", "the thread's messages up to the one before a request, seen by a re-run; nothing is stored on it"),
    ("fork", "a thread that shares the messages up to one of this thread's, and goes on by itself"),
    ("reseed", "a fresh thread from the same seed"),
    ("seed", "a file that fills a fresh thread with messages, state and an agent"),
    ("state, state view", "values a thread keeps; a view shows them to the model as they were when the turn opened"),
    ("transcript", "what happened inside one turn: calls, results; the next turn does not see it"),
    ("delegated", "a turn that another agent ran for this one; its answer is a tool result here"),
    ("fallback", "a model failed, and the next one of the agent's chain was asked the same"),
    ("asked again", "the model said nothing, so it was asked once more"),
    ("budget", "the work granted to a turn: steps, tool calls, seconds, tokens"),
    ("est", "tokens by our estimate; said: tokens as the provider counted them"),
    ("ended", "completed, failed, cut (the budget ran out), stopped (by you), truncated (the model's output limit)"),
    ("offline", "no LLM: quotes only what it sees. Good for seeing what a window changes, without a key"),
    ("sweep", "the same request under several windows, each a run on a view; nothing of it is a message of the thread"),
    ("enough", "what an answer must hold to be good enough: words it says, a tool it calls, the answer of all"),
    ("edge, bisected", "the smallest window from which every larger one is enough, found by halving what lies between"),
    ("leave one out", "the request again without each message, state view, paragraph or result in turn"),
    ("entered", "the messages that a window takes and the next smaller one does not"),
    ("≡", "this stored message is also the request"),
)


def meaning(word: str) -> str:
    """What `word` means; empty if the glossary does not have it."""
    return next((text for name, text in GLOSSARY if word in name.split(", ")), "")
