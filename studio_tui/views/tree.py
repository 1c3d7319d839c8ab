"""The tree of threads: a thread between those it was forked from and those forked from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from runtime.stores import Thread
from studio_tui.views.lines import Line, Pane, Span

MOST = 500
"""Threads shown; of a larger family the rest is counted."""


@dataclass(frozen=True, slots=True)
class Family:
    """A tree of threads: `root` is forked from none, `forks` are those forked directly from each, oldest first."""

    root: Thread
    forks: Mapping[str, Sequence[Thread]]


def tree_pane(family: Family, here: str) -> Pane:
    """The family as a tree, `here` marked. Ids: `thread:ID`."""
    lines: list[Line] = []
    for line in _branch(family, family.root, here, "", ""):
        if len(lines) == MOST:
            lines.append(Line("more", (Span(f"more than {MOST} threads: open one to see those around it", "muted"),)))
            break
        lines.append(line)
    return Pane("THREADS", "", tuple(lines))


def _branch(family: Family, thread: Thread, here: str, before: str, under: str) -> Iterator[Line]:
    """A thread and what was forked from it, walked without recursion: forks may be nested deep."""
    waiting = [(thread, before, under)]
    while waiting:
        one, lead, below = waiting.pop()
        yield _line(one, here, lead)
        forks = sorted(family.forks.get(one.id, ()), key=lambda fork: (fork.forked_at or 0, fork.created))
        nested = [
            (fork, below + ("└ " if last else "├ "), below + ("  " if last else "│ "))
            for fork, last in zip(forks, (one is forks[-1] for one in forks), strict=True)
        ]
        waiting.extend(reversed(nested))


def _line(thread: Thread, here: str, lead: str) -> Line:
    at = (Span(f"at {thread.forked_at}  ", "number"),) if thread.forked_at is not None else ()
    mine = thread.id == here
    return Line(
        f"thread:{thread.id}",
        (
            Span(lead, "muted"),
            *at,
            Span(thread.name or thread.agent or "thread", "title" if mine else "text"),
            Span(f"  {thread.id}", "muted"),
            *((Span("  ◀ this one", "what-if"),) if mine else ()),
        ),
        (Span(f"{thread.length:,} messages   {thread.created:%Y-%m-%d %H:%M}", "muted"),),
        wrap=False,
        kind="thread",
    )
