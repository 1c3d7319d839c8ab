"""Which calls belong together: programs that trim, summarise, repeat, rewrite, branch and talk at the same time."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from runtime.recorder.aligning import place
from runtime.recorder.recording import Recording
from runtime.recorder.words import program_words, sent_words
from runtime.stores.memory import MemoryStore
from runtime.values.record import ContextRecord
from tests.recorder.conftest import Program

LONG = "a text that is long enough to be no chance likeness"


async def chat(program: Program, *requests: str, start: int = 1) -> None:
    for number, request in enumerate(requests, start):
        program.says(request)
        await program.call(number, f"answer to {request}")


async def context_of(program: Program, at: int = -1) -> ContextRecord:
    context = (await program.records())[at].context
    assert context is not None
    return context


async def test_X1_a_trimmed_history_is_dropped_by_the_client(program: Program) -> None:
    await chat(program, "one", "two", "three")
    program.messages = program.messages[-2:]
    await chat(program, "four", start=4)
    context = await context_of(program)
    assert len(await program.threads()) == 1
    assert [row.seq for row in context.rows] == [5, 6]
    assert [(left.first, left.last, left.reason) for left in context.left_out] == [
        (1, 4, "dropped-by-client"),
        (7, 7, "is-request"),
    ]
    assert sent_words(context) == "recorded: your program sent 3 of 7 messages"
    assert program_words(context) == ("your program left out 4 messages: seq 1-4",)
    assert (context.since.entered, context.since.left) == ((5, 6), (1, 2, 3, 4))


async def test_a_window_that_slides_stays_one_thread(program: Program) -> None:
    everything: list[dict[str, Any]] = []
    for number in range(1, 13):
        everything.append({"role": "user", "content": f"request {number % 3}"})
        program.messages = []
        await program.call(number, "ok", messages=everything[-5:])
        everything += program.messages
    assert len(await program.threads()) == 1
    assert len(await program.rows()) == 24
    context = await context_of(program)
    assert [row.seq for row in context.rows] == [19, 20, 21, 22]


async def test_rows_that_come_back_are_the_same_rows(program: Program) -> None:
    await chat(program, "one", "two", "three")
    whole = list(program.messages)
    program.messages = whole[-2:]
    await chat(program, "four", start=4)
    program.messages = whole + program.messages[2:]
    await chat(program, "five", start=5)
    assert len(await program.rows()) == 10
    context = await context_of(program)
    assert [row.seq for row in context.rows] == list(range(1, 9))
    assert set(context.since.entered) >= {1, 2, 3, 4}


async def test_a_summary_is_a_row_of_its_own_and_stays_one(program: Program) -> None:
    await chat(program, "one", "two", "three")
    program.messages = [{"role": "user", "content": "Summary so far: things."}, *program.messages[-2:]]
    await chat(program, "four", "five", start=4)
    assert len(await program.threads()) == 1
    rows = await program.rows()
    assert [text for _, text in rows].count("Summary so far: things.") == 1
    assert len(rows) == 11
    context = await context_of(program)
    assert [row.text for row in context.rows] == [
        "three",
        "answer to three",
        "Summary so far: things.",
        "four",
        "answer to four",
    ]
    assert sent_words(context) == "recorded: your program sent 6 of 10 messages"


async def test_results_that_were_cleared_are_replaced_once(program: Program) -> None:
    for number in (1, 3, 5):
        program.says(f"look {number}")
        await program.call(number, None, ((f"c{number}", "look", f'{{"at": {number}}}'),))
        program.result(f"c{number}", f"{LONG} {number}")
        for message in program.messages[:-1]:
            if message["role"] == "tool":
                message["content"] = f"[cleared {message['tool_call_id']}]"
        await program.call(number + 1, f"done {number}")
    assert len(await program.threads()) == 1
    texts = [text for _, text in await program.rows()]
    assert texts.count("[cleared c1]") == 1
    assert len(texts) == 14


async def test_X6_what_a_program_sends_twice_is_said(program: Program) -> None:
    await chat(program, "one")
    program.messages += list(program.messages)
    await chat(program, "two", "one", start=2)
    assert len(await program.threads()) == 1
    context = await context_of(program)
    assert program_words(context) == (
        "your program sent seq 1 with the same text as the request",
        "your program sent seq 3 with the same text as seq 1",
        "your program sent seq 4 with the same text as seq 2",
    )


async def test_an_answer_in_other_words_is_the_same_conversation(program: Program) -> None:
    program.says("Hi")
    await program.call(1, "<think>They greet me.</think>\n\nHello there.")
    program.messages[-1] = {"role": "assistant", "content": "Hello there."}
    await chat(program, "How are you?", start=2)
    assert len(await program.threads()) == 1
    context = await context_of(program)
    assert [(left.first, left.reason) for left in context.left_out] == [(2, "dropped-by-client"), (4, "is-request")]


async def test_calls_with_other_ids_and_blanks_are_the_same(program: Program) -> None:
    program.says("Where?")
    await program.call(1, "Let me look.", (("c1", "look", '{"at": "desk",  "how": "twice"}'),))
    call = {
        "id": "renamed",
        "type": "function",
        "function": {"name": "look", "arguments": '{"how":"twice","at":"desk"}'},
    }
    program.messages[-1] = {"role": "assistant", "content": None, "tool_calls": [call]}
    program.result("renamed", "there")
    await program.call(2, "There.")
    (record,) = await program.records()
    assert (record.status, len(record.transcript)) == ("completed", 3)


async def test_S9_a_changed_past_is_a_fork(program: Program) -> None:
    await chat(program, "one", "two")
    program.messages = [*program.messages[:2], {"role": "user", "content": "two, differently"}]
    await program.call(3, "another answer")
    base, fork = await program.threads()
    assert (fork.origin, fork.parent, fork.forked_at) == ("fork", base.id, 2)
    assert await program.rows(fork.id) == [
        ("user", "one"),
        ("assistant", "answer to one"),
        ("user", "two, differently"),
        ("assistant", "another answer"),
    ]
    assert len(await program.rows(base.id)) == 4
    await chat(program, "three", start=4)
    assert len(await program.threads()) == 2
    assert [r.request for r in await program.records(fork.id)] == ["one", "two, differently", "three"]


async def test_an_answer_asked_for_again_is_a_fork_at_its_request(program: Program) -> None:
    await chat(program, "one", "two")
    program.messages = program.messages[:3]
    await program.call(3, "a better answer")
    base, fork = await program.threads()
    assert (fork.parent, fork.forked_at) == (base.id, 3)
    assert (await program.rows(fork.id))[2:] == [("user", "two"), ("assistant", "a better answer")]


async def test_conversations_that_only_begin_alike_are_threads_of_their_own(program: Program) -> None:
    await chat(program, "Hello")
    program.messages = []
    await chat(program, "Hello", start=2)
    program.says("and now")
    await program.call(3, "now")
    assert [(thread.origin, thread.length) for thread in await program.threads()] == [("recorded", 2), ("recorded", 4)]


async def test_examples_that_every_call_begins_with_join_nothing(program: Program) -> None:
    examples = [{"role": "user", "content": LONG}, {"role": "assistant", "content": f"yes, {LONG}"}]
    for number in range(1, 4):
        await program.call(
            number, f"class {number}", messages=[*examples, {"role": "user", "content": f"item {number}"}]
        )
    assert [thread.origin for thread in await program.threads()] == ["recorded"] * 3


async def test_a_short_likeness_joins_nothing(program: Program) -> None:
    program.says("Begin.")
    await program.call(1, "ok")
    other = [
        {"role": "user", "content": "Something else"},
        {"role": "assistant", "content": "ok"},
        {"role": "user", "content": "More"},
    ]
    await program.call(2, "done", messages=other)
    assert len(await program.threads()) == 2


async def test_calls_at_the_same_time_do_not_mix(program: Program) -> None:
    await chat(program, "one")
    past = list(program.messages)
    for number, text in ((2, "left"), (3, "right"), (4, "left")):
        await program.began(number, [*past, {"role": "user", "content": text}])
    for number in (4, 2, 3):
        await program.ended(number, program.dialect.whole(f"for {number}"))
    base, *forks = sorted(await program.threads(), key=lambda thread: thread.parent or "")
    assert (await program.rows(base.id))[-1] == ("assistant", "for 2")
    assert sorted([(await program.rows(fork.id))[-1][1] for fork in forks]) == ["for 3", "for 4"]
    statuses = [record.status for thread in (base, *forks) for record in [*await program.records(thread.id)]]
    assert set(statuses) == {"completed"}


async def test_conversations_at_the_same_time_do_not_mix(recording: Recording) -> None:
    store = recording.store
    assert isinstance(store, MemoryStore)
    programs = [Program(recording, store, system=f"You are {n}.") for n in range(4)]
    for turn in range(3):
        for n, program in enumerate(programs):
            program.says(f"question {turn}")
            await program.began(100 * turn + n)
        for n, program in reversed(list(enumerate(programs))):
            await program.ended(100 * turn + n, program.dialect.whole(f"answer {turn} of {n}"))
            program.messages.append({"role": "assistant", "content": f"answer {turn} of {n}"})
    threads = await programs[0].threads()
    assert [(thread.origin, thread.length) for thread in threads] == [("recorded", 6)] * 4


async def test_a_recording_goes_on_with_the_threads_of_before(program: Program) -> None:
    await chat(program, "one", "two")
    later = Recording(program.store, upstream="http://model.test")
    program.recording = later
    await chat(program, "three", start=1)
    assert len(await program.threads()) == 1
    assert len(await program.records()) == 3
    assert (await context_of(program)).stored == 5


async def test_rows_that_somebody_else_stored_are_left_out(program: Program) -> None:
    from runtime.values.messages import NewMessage

    await chat(program, "one")
    thread = (await program.threads())[0].id
    await program.store.append(thread, NewMessage("user", "from the Studio"), NewMessage("assistant", "mine"))
    await chat(program, "two", "three", start=2)
    assert [text for _, text in await program.rows()][2:6] == ["from the Studio", "mine", "two", "answer to two"]
    context = await context_of(program)
    assert [(left.first, left.last) for left in context.left_out] == [(3, 4), (7, 7)]


async def test_S7_a_thread_on_which_somebody_runs_a_turn_is_left_to_them(program: Program) -> None:
    from runtime.stores import NewTurn
    from runtime.stores.owner import this_process
    from runtime.values.messages import NewMessage

    await chat(program, "one")
    thread = (await program.threads())[0].id
    new = NewTurn(thread, "envelope", "plain", 6, "mine", owner=this_process())
    await program.store.open_turn(new, NewMessage("user", "mine"))
    await chat(program, "two", "three", start=2)
    base, fork = await program.threads()
    assert (fork.parent, base.length) == (thread, 3)
    assert (await program.rows(fork.id))[-1] == ("assistant", "answer to three")


async def test_S1_every_row_has_its_place_or_its_reason(program: Program) -> None:
    """A program that does at random what programs do: every record accounts for every row once."""
    chance = random.Random(7)
    for number in range(1, 60):
        if chance.random() < 0.2 and len(program.messages) > 4:
            program.messages = program.messages[-chance.randint(2, 4) :]
        if chance.random() < 0.1:
            program.messages.insert(0, {"role": "user", "content": f"summary {number}"})
        if chance.random() < 0.1 and len(program.messages) > 3:
            del program.messages[chance.randrange(len(program.messages) - 1)]
        program.says(f"request {number} {LONG}")
        await program.call(number, f"answer {number} {LONG}")
    for thread in await program.threads():
        for record in await program.records(thread.id):
            context = record.context
            assert context is not None
            seqs = [row.seq for row in context.rows]
            for left in context.left_out:
                seqs += range(left.first, left.last + 1)
            assert sorted(seqs) == list(range(1, context.stored + 1))
            assert context.selected == len(context.rows)


KEYS = st.lists(st.sampled_from([bytes([n]) for n in range(6)]), max_size=12)


@given(KEYS, KEYS, st.data())
def test_placing_finds_rows_that_say_the_same_and_each_once(
    known: list[bytes], sent: list[bytes], data: st.DataObject
) -> None:
    last = data.draw(st.lists(st.sampled_from(range(1, len(known) + 1)), unique=True)) if known else []
    placed = place(sent, known, last)
    found = [(at, seq) for at, seq in enumerate(placed.seqs) if seq is not None]
    assert all(known[seq - 1] == sent[at] for at, seq in found)
    assert len({seq for _, seq in found}) == len(found)
    assert all(seq is None for seq in placed.seqs[placed.tail :])
    assert placed.same <= placed.matched <= len(found)


@given(KEYS, KEYS)
def test_placing_keeps_what_was_only_added_to(known: list[bytes], new: list[bytes]) -> None:
    last = list(range(1, len(known) + 1))
    placed = place([*known, *new], known, last)
    assert placed.seqs == (*last, *[None] * len(new))
    assert placed.reaches == bool(known)
