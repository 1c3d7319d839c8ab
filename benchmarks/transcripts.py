"""Long conversation files: reading against `json.loads` over the same lines, memory, and a loop that stays alive.

Two files are made: a fine-tuning set with one conversation a line, and one coding session (about 4 KB a record: texts,
calls, results, and the copies of results and edited files that the program keeps beside them; with records of half the
size the ratio is a quarter higher). Speed is compared on SPEED_MB of each; memory and
the event loop are measured on a session of MEMORY_MB that becomes one thread of a SQLite store. `BENCHMARK_MB` sets
both sizes.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from benchmarks.measure import Promise, paired, promise

SPEED_MB = int(os.environ.get("BENCHMARK_MB", "60"))
MEMORY_MB = int(os.environ.get("BENCHMARK_MB", "300"))

MOST_MEMORY = 200.0
"""MB of the whole process that loads and imports."""

LONGEST_GAP = 0.05
"""Seconds that the process may work without its event loop being reached while a conversation is imported."""

WORDS = [f"{start}{end}" for start in ("dra", "frid", "revi", "budg", "thurs") for end in ("ft", "ay", "ew", "et")]


def promises() -> Iterator[Promise]:
    """The promises on conversation files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        yield from _speed(folder)
        session = write_session(folder / "long.jsonl", MEMORY_MB)
        command = [sys.executable, "-m", "benchmarks.transcripts", str(session), str(folder / "s.db")]
        found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        what = f"a session of {MEMORY_MB} MB ({found['rows']:,} rows, {found['turns']:,} turns) into SQLite"
        yield promise(f"{what}: memory", 1, [found["mb"]], [MOST_MEMORY], "MB")
        yield promise(f"{what}: the event loop's longest gap", 1, [found["gap"]], [LONGEST_GAP])


def _speed(folder: Path) -> Iterator[Promise]:
    from runtime.transcripts import conversations, load

    session = write_session(folder / "session.jsonl", SPEED_MB)
    chats = write_chats(folder / "chats.jsonl", SPEED_MB)
    yield paired(
        f"a coding session of {SPEED_MB} MB loaded, against json.loads over its lines",
        2,
        lambda: load(session),
        lambda: parse(session),
        pairs=5,
    )
    yield paired(
        f"{SPEED_MB} MB of conversations, one a line, listed, against json.loads over the lines",
        2,
        lambda: sum(one.messages for one in conversations(chats)),
        lambda: parse(chats),
        pairs=5,
    )
    yield paired(
        f"one of {SPEED_MB} MB of conversations loaded, against json.loads over the lines",
        2,
        lambda: load(chats, 7),
        lambda: parse(chats),
        pairs=5,
    )


def parse(path: Path) -> int:
    """What every reader of JSONL does at least."""
    with path.open("rb") as file:
        return sum(1 for line in file if json.loads(line))


def write_chats(path: Path, megabytes: int) -> Path:
    """Conversations of 2 to 12 messages, one a line."""
    chance = random.Random(7)
    texts = _texts(chance)
    with path.open("w", encoding="utf-8") as file:
        while file.tell() < megabytes << 20:
            messages = [{"role": "system", "content": next(texts)}]
            for _ in range(chance.randint(1, 6)):
                messages += [
                    {"role": "user", "content": next(texts)},
                    {"role": "assistant", "content": next(texts)},
                ]
            file.write(json.dumps({"messages": messages}) + "\n")
    return path


def write_session(path: Path, megabytes: int) -> Path:
    """Requests of one to six calls each, compacted every 500 requests."""
    chance = random.Random(7)
    texts = _texts(chance)
    parent: str | None = None
    written = asked = 0
    with path.open("w", encoding="utf-8") as file:

        def put(kind: str, content: object, **more: object) -> None:
            nonlocal parent, written
            uuid = f"{chance.getrandbits(128):032x}"
            message = {"role": kind, "content": content, **({"id": uuid[:20]} if kind == "assistant" else {})}
            record = {
                "parentUuid": parent, "isSidechain": False, "userType": "external", "cwd": "/home/u/project",
                "sessionId": "5c6a1b1e-0000-4000-8000-000000000000", "version": "1.0.80", "gitBranch": "main",
                "type": kind, "message": message, **more, "uuid": uuid, "timestamp": "2026-01-05T09:00:00.000Z",
            }  # fmt: skip
            parent = uuid
            written += file.write(json.dumps(record, separators=(",", ":")) + "\n")

        while written < megabytes << 20:
            asked += 1
            if asked % 500 == 0:
                put("user", next(texts), isCompactSummary=True)
            put("user", next(texts))
            for _ in range(chance.randint(1, 6)):
                id = f"toolu_{chance.getrandbits(80):020x}"
                call = {"type": "tool_use", "id": id, "name": "Read", "input": {"file": "/home/u/a.py", "limit": 200}}
                put("assistant", [{"type": "text", "text": next(texts)}, call], requestId="r")
                output = "\n".join(islice(texts, chance.randint(2, 8)))
                result = {"type": "tool_result", "tool_use_id": id, "content": output}
                copy: dict[str, object] = {"file": {"path": "/home/u/a.py", "content": output}}
                if chance.random() < 0.4:
                    copy = {
                        "filePath": "/home/u/a.py",
                        "originalFile": "\n".join(islice(texts, 12)),
                        "newString": output,
                    }
                put("user", [result], toolUseResult=copy)
            put("assistant", [{"type": "text", "text": next(texts)}], requestId="r")
    return path


def _texts(chance: random.Random) -> Iterator[str]:
    """Texts of 40 to 1,200 characters."""
    made = [" ".join(chance.choices(WORDS, k=chance.choice((10, 40, 120, 240)))) for _ in range(199)]
    return cycle(made)


async def _import(path: Path, store_path: Path) -> dict[str, float]:
    """Load and import one session; what the process held at most, and the longest gap in the event loop."""
    from runtime.imports import import_conversation
    from runtime.stores import open_store
    from runtime.transcripts import load

    gaps = [0.0]

    async def beat() -> None:
        last = time.process_time()  # of this process alone: others on the machine are not its fault
        while True:
            await asyncio.sleep(0.001)
            now = time.process_time()
            gaps.append(now - last)
            last = now

    store = open_store(f"sqlite:///{store_path}")
    beating = asyncio.create_task(beat())
    conversation = await asyncio.to_thread(load, path)
    imported = await import_conversation(store, conversation)
    beating.cancel()
    await store.close()
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    return {"mb": held, "gap": max(gaps), "rows": len(conversation.messages), "turns": imported.turns}


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(asyncio.run(_import(Path(sys.argv[1]), Path(sys.argv[2])))))
    else:
        for one in promises():
            print(one)
