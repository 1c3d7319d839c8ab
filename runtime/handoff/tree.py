"""Who hands to whom in a session, and who is spoken to: the fold of its log, live and reopened alike (H14)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from runtime.handoff.events import HandoffEvent, LeftWaiting, Return, SessionEvent, ThreadResume, ThreadStatus


@dataclass(frozen=True, slots=True)
class Link:
    """How the conversation came to a thread: from which one, by which route, and whether it is to go back.

    `led_by` is the caller's intent then, `trigger` the seq of the message in the caller's thread (0: no row).
    """

    caller: str
    route: str
    returns: bool
    led_by: str | None
    trigger: int


@dataclass(frozen=True, slots=True)
class Node:
    """One thread. `parent` created it; `link` is how it was reached last, None for the first agent's.

    `strategy` is what was in force when it was created; `told` is how many of its rows have had their chance to join
    its caller (H8).
    """

    id: str
    agent: str
    parent: str | None = None
    link: Link | None = None
    status: ThreadStatus = "active"
    remote: bool = False
    strategy: str = "full"
    requested: int | None = None
    told: int = 0

    @property
    def rows_return(self) -> bool:
        """Whether its answers join the caller: with `full` and `last_N`, not with `last_0` (H8)."""
        return self.requested != 0


@dataclass(slots=True)
class Tree:
    """The threads of a session by id, in the order they were created, and the one that is spoken to."""

    nodes: dict[str, Node]
    active: str
    handed: dict[str, list[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, first: str, agent: str) -> Tree:
        """The tree of a session in which nothing has happened."""
        return cls({first: Node(first, agent)}, first)

    @property
    def speaking(self) -> Node:
        """Whose turn the next customer message opens."""
        return self.nodes[self.active]

    def apply(self, event: SessionEvent) -> None:
        """Take in one event."""
        match event:
            case HandoffEvent():
                self._reached(event, _new_node(event))
            case ThreadResume():
                known = replace(self.nodes[event.thread], link=_link(event), status="active")
                self._reached(event, known)
            case Return():
                self._put(event.thread, "returned", told=max(event.joined, default=0))
                self._speak_to(event.caller_thread)
            case LeftWaiting():
                self._put(event.thread, "waiting")
                self._speak_to(event.caller_thread)
            case _:
                pass

    def escalated(self, thread: str) -> None:
        """The conversation of a thread goes to a person."""
        self._put(thread, "escalated")

    def children(self, thread: str) -> list[Node]:
        """Whom a thread handed to, and whom they did, each once, in the order they were reached."""
        found: dict[str, Node] = {}
        waiting = list(self.handed.get(thread, ()))
        for one in waiting:
            if one != thread and one not in found:
                found[one] = self.nodes[one]
                waiting.extend(self.handed.get(one, ()))
        return list(found.values())

    def waiting_above(self, thread: str) -> dict[str, str]:
        """The agents that wait for the conversation to come back from `thread`, with their threads (H10)."""
        found: dict[str, str] = {}
        node = self.nodes[thread]
        while node.link is not None and node.link.caller not in found.values():
            node = self.nodes[node.link.caller]
            if node.status == "waiting":
                found[node.agent] = node.id
        return found

    def waiting_target(self, agent: str, thread: str) -> Node | None:
        """The thread of `agent` that was left waiting last, to be resumed from `thread` (H7)."""
        above = self.waiting_above(thread).values()
        left = [one for one in self.nodes.values() if one.agent == agent and one.status == "waiting"]
        return next((one for one in reversed(left) if one.id not in above and one.id != thread), None)

    def _reached(self, event: HandoffEvent | ThreadResume, node: Node) -> None:
        self.nodes[node.id] = node
        self.handed.setdefault(event.caller_thread, []).append(node.id)
        self._put(event.caller_thread, "waiting" if event.returns else "completed")
        self.active = node.id

    def _put(self, thread: str, status: ThreadStatus, *, told: int = 0) -> None:
        node = self.nodes[thread]
        self.nodes[thread] = replace(node, status=status, told=max(node.told, told))

    def _speak_to(self, thread: str) -> None:
        self._put(thread, "active")
        self.active = thread


def tree_of(first: str, agent: str, events: Iterable[SessionEvent]) -> Tree:
    """The tree that the events of a session lead to."""
    tree = Tree.of(first, agent)
    for event in events:
        tree.apply(event)
    return tree


def _new_node(event: HandoffEvent) -> Node:
    requested = None if event.requested == "all" else event.requested
    return Node(
        event.thread,
        event.target,
        event.caller_thread,
        _link(event),
        remote=event.remote,
        strategy=event.strategy,
        requested=requested,
    )


def _link(event: HandoffEvent | ThreadResume) -> Link:
    return Link(event.caller_thread, event.route, event.returns, event.led_by, event.trigger.seq)
