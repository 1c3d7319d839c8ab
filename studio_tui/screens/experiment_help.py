"""F1 on the screen of an experiment: what is on it, the keys that work, and the glossary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from studio_tui.glossary import GLOSSARY
from studio_tui.screens.reader import Reader
from studio_tui.views.lines import Line, Pane, Span
from studio_tui.widgets.keys_footer import Key


def experiment_help(on_screen: Sequence[tuple[str, str]], keys: Sequence[Key]) -> Reader:
    """The help as a text to read and search."""
    lines = tuple(
        Line(f"line:{number}", spans, hang=hang) for number, (spans, hang) in enumerate(_lines(on_screen, keys))
    )
    return Reader("Help", "", Pane("Help", "", lines), "\n".join(line.text for line in lines))


def _lines(on_screen: Sequence[tuple[str, str]], keys: Sequence[Key]) -> Iterator[tuple[tuple[Span, ...], int]]:
    yield (Span("What is on this screen", "title"),), 0
    for name, words in on_screen:
        yield (Span(f"  {name:<15}", "key"), Span(words)), 17
    yield (Span(""),), 0
    yield (Span("Keys", "title"), Span("   Esc goes back and never stops anything; what runs goes on")), 0
    for key, word, _ in keys:
        yield (Span(f"  {key:<15}", "key"), Span(word)), 17
    yield (Span(""),), 0
    yield (Span("Words", "title"),), 0
    for name, words in GLOSSARY:
        yield (Span(f"  {name:<20}", "key"), Span(words)), 22
