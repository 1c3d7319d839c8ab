"""The tree that a session's records form, at some forty bytes a record: what is the main thread, what was abandoned.

Ids are kept as hashes and parents as numbers, so that the records themselves need not be kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Mapping
from typing import Final

from runtime.transcripts.shapes import txt

SPOKEN: Final = ("user", "assistant")

_SAID, _NAMED, _ASSISTANT, _CUT, _SIDE = 1, 2, 4, 8, 16
_NONE, _UNKNOWN = -1, -2


class Tree:
    """Records by number, in the order of the file, each in one part: a stretch of the main thread, or a side chain."""

    def __init__(self) -> None:
        self.mains = [0]
        self.sides: dict[str, int] = {}
        self._main = 0
        self._numbers: dict[int, int] = {}
        self._parts = array("i")
        self._parents = array("i")
        self._flags = bytearray()
        self._messages = array("q")
        self._uses = array("q")
        self._answers = array("q")
        self._late: dict[int, int] = {}
        self._put_part, self._put_parent = self._parts.append, self._parents.append
        self._put_flags, self._put_message = self._flags.append, self._messages.append
        self._members: dict[int, array[int]] = {}

    def part_of(self, number: int) -> int:
        """The part of a record; -1 for one that was met before."""
        return self._parts[number] if number < len(self._parts) else -1

    def speaks(self, part: int) -> bool:
        """Whether any message is in a part."""
        return any(self._flags[number] & _SAID for number in self._of(part))

    @property
    def parts(self) -> int:
        """How many parts there are."""
        return len(self.mains) + len(self.sides)

    def add(self, raw: Mapping[str, object], kind: str, message: Mapping[str, object], *, clears: bool) -> int:
        """Take up the next record; returns its part, -1 if its id was met before. `clears` begins a new stretch."""
        get = raw.get
        number = len(self._parts)
        uuid = get("uuid")
        flags = 0
        if uuid and type(uuid) is str:
            key = hash(uuid)
            if key in self._numbers:
                self._put_part(-1)
                self._put_parent(_NONE)
                self._put_flags(0)
                self._put_message(0)
                return -1
            self._numbers[key] = number
            flags = _NAMED
        named = get("parentUuid") or get("logicalParentUuid")
        parent = _NONE
        if named and type(named) is str:
            parent = self._numbers.get(hash(named), _UNKNOWN)
            if parent == _UNKNOWN:
                self._late[number] = hash(named)
        id: object = None
        if kind == "user" or kind == "assistant":
            flags |= _SAID
            if kind == "assistant":
                flags |= _ASSISTANT
                id = message.get("id")
            content = message.get("content")
            if type(content) is list:
                self._note_tools(number, content)
        if get("isCompactSummary") is True or (kind == "system" and get("subtype") == "compact_boundary"):
            flags |= _CUT
        part = self._main
        if get("isSidechain") is True:
            flags |= _SIDE
            part = self._side(txt(get("agentId")), parent)
        elif clears:
            self._main = self.parts
            self.mains.append(self._main)
            part = -1
        self._put_part(part)
        self._put_parent(parent)
        self._put_flags(flags)
        self._put_message(hash(id) if id and type(id) is str else 0)
        return part

    def dropped(self, part: int) -> frozenset[int]:
        """The records of a part that belong to an abandoned branch: another one leads to its last message.

        Where ids are missing the order of the file stands. Records that hang on nothing are kept.
        """
        self._settle_late()
        members, flags, parents = self._of(part), self._flags, self._parents
        spoken = [n for n in members if flags[n] & _SAID]
        if not spoken or any(not flags[n] & _NAMED for n in spoken):
            return frozenset()
        kept = self._path(part, spoken[-1])
        if all(kept[n] for n in spoken):
            return frozenset()
        self._keep_parallel(part, kept)
        branched = {parents[n] for n in members if kept[n]}
        return frozenset(
            n
            for n in spoken
            if not kept[n]
            and parents[n] >= 0
            and self._parts[parents[n]] == part
            and (parents[n] in branched or not kept[parents[n]])
        )

    def _settle_late(self) -> None:
        """Parents that were written after their children."""
        for number, key in self._late.items():
            self._parents[number] = self._numbers.get(key, _UNKNOWN)
        self._late.clear()

    def _of(self, part: int) -> array[int]:
        """The records of a part, by number."""
        if not self._members:
            self._members = {number: array("I") for number in range(-1, self.parts)}
            for number, its in enumerate(self._parts):
                self._members[its].append(number)
        return self._members[part]

    def _side(self, agent: str, parent: int) -> int:
        """A sub-agent's record: by agent id if there is one, else the chain that its parent is in."""
        if not agent and parent >= 0 and self._flags[parent] & _SIDE:
            return self._parts[parent]
        name = agent or str(len(self.sides) + 1)
        if name not in self.sides:
            self.sides[name] = self.parts
        return self.sides[name]

    def _note_tools(self, number: int, content: list[object]) -> None:
        """The calls a message makes and the results it holds, by hash."""
        for block in content:
            if type(block) is not dict:
                continue
            kind = block.get("type")
            if kind == "tool_use":
                self._uses.extend((number, hash(txt(block.get("id")))))
            elif kind == "tool_result":
                self._answers.extend((number, hash(txt(block.get("tool_use_id")))))

    def _path(self, part: int, leaf: int) -> bytearray:
        """Which records lead to `leaf`. A boundary or summary without a parent goes on from the message before it."""
        kept = bytearray(len(self._parts))
        before: dict[int, int] = {}
        last = _NONE
        for n in self._of(part):
            if self._flags[n] & _CUT:
                before[n] = last
            elif self._flags[n] & _SAID:
                last = n
        at = leaf
        while at >= 0 and self._parts[at] == part and not kept[at]:
            kept[at] = 1
            parent = self._parents[at]
            at = before.get(at, _NONE) if parent == _NONE else parent
        return kept

    def _keep_parallel(self, part: int, kept: bytearray) -> None:
        """Results of calls made in parallel hang side by side on their calls, not in one line: they are kept."""
        responses = {
            self._messages[n] for n in self._of(part) if kept[n] and self._flags[n] & _ASSISTANT
        } - {0}  # fmt: skip
        uses, answers = _Pairs(self._uses), _Pairs(self._answers)
        ids = {used for number, used in uses.all() if kept[number]}
        found = []
        for n in self._of(part):
            made, answered = uses.of(n), answers.of(n)
            if self._flags[n] & _ASSISTANT and self._messages[n] in responses:
                found.append(n)
                ids.update(made)
            elif not ids.isdisjoint(answered):
                found.append(n)
        for n in found:
            kept[n] = 1


class _Pairs:
    """Pairs of (record, hash), by record in rising order."""

    def __init__(self, flat: array[int]) -> None:
        self._flat, self._at = flat, 0

    def all(self) -> Iterator[tuple[int, int]]:
        return zip(self._flat[::2], self._flat[1::2], strict=True)

    def of(self, number: int) -> list[int]:
        """The hashes of a record; to be asked in rising order."""
        flat, found = self._flat, []
        while self._at < len(flat) and flat[self._at] <= number:
            if flat[self._at] == number:
                found.append(flat[self._at + 1])
            self._at += 2
        return found
