"""F1: what is on this screen, which keys work where, and the one glossary (Q5)."""

from __future__ import annotations

from collections.abc import Iterator

from studio_tui.actions import in_help
from studio_tui.glossary import GLOSSARY
from studio_tui.screens.reader import Reader
from studio_tui.views.lines import Line, Pane, Span

ON_SCREEN = (
    ("head line", "the seed or file, the thread, the turn; the agent and the model that answer"),
    ("WINDOW", "how many stored messages are selected: • as sent, ▐ ▌ laid over it as a what-if; then in words"),
    ("BUDGET", "tokens of each part of the request, by our estimate; 212→96: as sent, and under the what-if"),
    ("TURNS", "every turn of the thread, its re-runs under it, and next: the coming turn, not sent"),
    ("CONTEXT", "what was in front of the model and why; what was left out and why; RECORD, WHAT IF or NOT SENT"),
    ("MODEL", "what the model did with it: steps, calls, results, how it ended, what the next turn sees of it"),
    ("ASK", "your request; Enter sends it as the next turn with the window shown"),
    ("last lines", "the keys that work now, and what is going on"),
)


def help_screen() -> Reader:
    """The help as a text to read and search."""
    lines = tuple(_lines())
    return Reader("Help", "", Pane("Help", "", lines), "\n".join(line.text for line in lines))


def _lines() -> Iterator[Line]:
    number = 0

    def line(*spans: Span, hang: int = 0) -> Line:
        nonlocal number
        number += 1
        return Line(f"line:{number}", spans, hang=hang)

    yield line(Span("What is on this screen", "title"))
    for name, words in ON_SCREEN:
        yield line(Span(f"  {name:<12}", "key"), Span(words), hang=14)
    yield line(Span(""))
    yield line(
        Span("Keys", "title"), Span("   typing: with the composer in focus; browsing: after Esc, letters are keys")
    )
    yield line(Span(f"  {'typing':<12}{'browsing':<10}", "muted"))
    for typing, browsing, action in in_help():
        if typing or browsing:
            yield line(Span(f"  {typing:<12}{browsing:<10}", "key"), Span(action.sentence), hang=24)
    yield line(Span(""))
    yield line(
        Span("The mouse works everywhere: click a turn, a row, a window, a key; drag to mark text, ^c copies it.")
    )
    yield line(Span(""))
    yield line(Span("Words", "title"))
    for name, words in GLOSSARY:
        yield line(Span(f"  {name:<20}", "key"), Span(words), hang=22)
