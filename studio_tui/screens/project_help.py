"""F1 on the screens of a project: what is on them, which keys work, the words of handoffs."""

from __future__ import annotations

from collections.abc import Iterator

from studio_tui.screens.reader import Reader
from studio_tui.views.lines import Line, Pane, Span

ON_SCREEN = (
    ("SESSION", "the threads, each below the one that handed to it, with its status; then what happened, in order"),
    ("CONVERSATION", "everything said, with handoffs and returns in their places"),
    ("CHECK", "what the compiler says of the files: code, place, what to write instead"),
    ("STRATEGY", "HISTORY as it is written, as it is read, what is in force and why; and a what-if beside it"),
    (
        "CALLER",
        "every message the caller had: copied or out, with the reason; ┌└ holds a call and its results together",
    ),
    ("TARGET", "the target's first model call: what was in front of it, and whether that is what is in force"),
    ("VALUES", "what went along by PASS, SET and SUMMARY, and what was gathered and stays"),
    ("PROBE", "both sides asked the same question on the side: nothing is stored"),
    ("FINDING", "the handoff in one sentence, with the line to mend; y copies it"),
)

KEYS = (
    ("⏎", "says what is typed; on a line: opens the thread, the turn, the handoff, or unfolds a message"),
    ("F9, h", "session: the handoff. Handoff: h and H go through other HISTORY settings, : types one, . takes it away"),
    ("[ ]", "the handoff before, the one after"),
    ("^r", "replays the same customer messages on a fresh session with the what-if; ^l compares the two"),
    ("p", "asks both sides a question of yours"),
    ("e", "opens the line in $EDITOR and checks the project again; k checks again without"),
    ("t", "the turns of the thread on the main screen; F9 there comes back"),
    ("w", "the body of the target's first request as it was sent"),
    ("^f", "why a message is in or out"),
    ("^n", "session: a fresh one with the files as they are now"),
    ("y, Y", "copies the finding; saves it to a file"),
    ("esc", "back; nothing is stopped"),
)

WORDS = (
    ("handoff", "the conversation goes to another agent, on a thread of its own"),
    ("copied", "a message of the caller's that the target's thread begins with"),
    (
        "trigger",
        "the customer message that led to the handoff: the request of the target's first turn, with any HISTORY",
    ),
    ("in force", "what the handoff copied by: the route's HISTORY if it can be used, else the project's, else full"),
    ("returned", "the child gave the conversation back to its caller"),
    ("waiting", "left in the middle, or waiting for a child; a thread that waits is resumed with its own history"),
    ("sensitive", "a field marked SENSITIVE got a value here: none of its messages is copied, its value is masked"),
)


def project_help() -> Reader:
    """The help as a text to read and search."""
    lines = tuple(_lines())
    return Reader("Help", "", Pane("Help", "", lines), "\n".join(line.text for line in lines))


def _lines() -> Iterator[Line]:
    number = 0
    for title, entries in (("What is on these screens", ON_SCREEN), ("Keys", KEYS), ("Words", WORDS)):
        yield Line(f"title:{title}", (Span(title, "title"),))
        for name, words in entries:
            number += 1
            yield Line(f"line:{number}", (Span(f"  {name:<13}", "key"), Span(words)), hang=15)
        yield Line(f"gap:{title}", (Span(""),))
