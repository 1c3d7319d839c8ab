"""Why a message is there or not: one sentence with the numbers in it (X8)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from runtime.explain import Finding, ledger, why
from runtime.fit import row_tokens
from runtime.values.items import AssistantStep
from runtime.values.messages import tool_call_part

FOURTEEN = [
    "u The Friday draft is due on the 5th.", *[f"{'au'[n % 2]} message {n + 2}" for n in range(12)], "u What about it?",
]  # fmt: skip


def ask(record: Any, about: int | str, rows: Any = (), earlier: Any = ()) -> Finding:
    return why(record, ledger(record, earlier=earlier, rows=rows or None), about, rows)


def test_X8_a_row_older_than_the_window(turn_on: Any, rows_of: Any) -> None:
    found = ask(turn_on(rows_of(*FOURTEEN), window=6), 1)
    assert found.sentence == (
        "seq 1 is not in the context of turn 3: older-than-window; window 6 took seq 9-14; "
        "a window of 14 or more would include it"
    )
    assert (found.verdict, found.seq, found.reason, found.needs) == ("out", 1, "older-than-window", 14)


def test_X8_a_row_in_the_context(turn_on: Any, rows_of: Any) -> None:
    found = ask(turn_on(rows_of(*FOURTEEN), window=6), 13)
    assert found.sentence == (
        f"seq 13 is in the context of turn 3: place 5 of 6, {row_tokens('assistant', 'message 13')} tokens; "
        "any window of 2 or more includes it"
    )
    assert (found.verdict, found.place, found.needs) == ("in", 5, 2)


def test_A4_the_request_row_says_so(turn_on: Any, rows_of: Any) -> None:
    assert ask(turn_on(rows_of(*FOURTEEN), window=1), 14).sentence.endswith("it is also the request, stored first")


def test_S3_window_zero_takes_none(turn_on: Any, rows_of: Any) -> None:
    assert ask(turn_on(rows_of(*FOURTEEN), window=0), 14).sentence == (
        "seq 14 is not in the context of turn 3: history-declined; window 0 takes no stored message; "
        "a window of 1 or more would include it"
    )


def test_S6_an_unreadable_row_is_in_no_window(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u a", None, "u c")
    found = ask(turn_on(rows, window=2), 2, rows)
    assert "unreadable; the stored row cannot be decoded, so no window includes it" in found.sentence
    assert found.needs is None


def test_a_row_that_came_later_or_never(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of(*FOURTEEN))
    assert ask(record, 15).sentence == "seq 15 is the answer of turn 3 itself, stored when the turn ended"
    assert ask(record, 20).sentence == (
        "seq 20 is later than turn 3: the thread held 14 rows when its context was assembled"
    )
    assert ask(record, 0).sentence == "the thread has no seq 0: rows are counted from 1"
    assert [ask(record, seq).verdict for seq in (15, 20, 0)] == ["later", "later", "nowhere"]


@pytest.mark.parametrize("text", ["Friday draft", "friday DRAFT"])
def test_X8_a_text_is_found_without_regard_to_case(turn_on: Any, rows_of: Any, text: str) -> None:
    rows = rows_of(*FOURTEEN)
    found = ask(turn_on(rows, window=6), text, rows)
    assert found.sentence == (
        f'seq 1 says "{text}" and is not in the context of turn 3: older-than-window; window 6 took seq 9-14; '
        "a window of 14 or more would include it"
    )
    assert found.matches == (1,)


def test_X8_a_text_said_twice_names_the_row_in_the_context_first(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u the draft", "a the draft", "u other", "a the draft", "u so?")
    found = ask(turn_on(rows, window=2), "draft", rows)
    assert found.seq == 4
    assert found.sentence.endswith("; also said by seq 1-2, left out")
    assert found.matches == (1, 2, 4)


def test_X8_of_rows_left_out_the_newest_that_a_window_includes_is_named(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u the draft", "a the draft", "u other", "u so?")
    found = ask(turn_on(rows, window=1), "draft", rows)
    assert (found.seq, found.needs) == (2, 3)


def test_X1_a_tool_result_of_an_earlier_turn_is_named(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    earlier = turn_on(
        rows_of("u q"), number=2, transcript=(*call_of("balance", {}, "300 euros"), AssistantStep(2, "ok"))
    )
    rows = rows_of("u q", "a ok", "u how much?")
    found = ask(turn_on(rows), "300 EUROS", rows, [earlier])
    assert found.sentence == (
        '"300 EUROS" stands in a result of balance in step 1 of turn 2, transcript-only: '
        "calls and results live in their own turn and are never stored, so no window brings it to turn 3"
    )
    assert (found.verdict, found.reason, found.turn) == ("never-stored", "transcript-only", "turn-2")


def test_X8_the_request_itself_is_the_last_to_be_named(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    rows = rows_of("u the draft is due", "a ok", "u when is the draft due?")
    found = ask(turn_on(rows, window=1), "draft", rows)
    assert (found.seq, found.needs) == (1, 3)
    assert found.sentence.endswith("; also said by seq 3, in the context")
    alone = ask(turn_on(rows[1:], window=1), "draft", rows[1:])
    assert (alone.seq, alone.verdict) == (3, "in")
    earlier = turn_on(rows_of("u q"), number=2, transcript=(*call_of("find", {}, "Draft!"), AssistantStep(2, "ok")))
    told = ask(turn_on(rows[1:], window=1), "draft", rows[1:], [earlier])
    assert told.reason == "transcript-only"
    assert told.sentence.endswith("; seq 3, the request itself, says it too")


def test_C27_a_stopped_answer_is_named(turn_on: Any, rows_of: Any) -> None:
    earlier = turn_on(
        rows_of("u q"),
        number=2,
        transcript=(AssistantStep(1, "Hello", partial=True),),
        status="stopped",
        answer=None,
        stored_assistant=None,
        unstored_assistant="turn-stopped",
    )
    rows = rows_of("u q", "u again")
    found = ask(turn_on(rows), "hello", rows, [earlier])
    assert found.reason == "turn-stopped"
    assert '"hello" stands in the answer of turn 2, turn-stopped: ' in found.sentence


def test_a_text_in_the_state_view_is_found_there(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of("u q"), state={"tone": "brief"}, views=("tone",))
    assert ask(record, "tone: brief").sentence == (
        'no stored message says "tone: brief"; the state views of turn 3 did, whatever the window'
    )


def test_A2_a_text_in_a_call_of_a_stored_message_is_never_sent(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u q", "a looking", "u r")
    rows[1] = replace(rows[1], parts=(tool_call_part("c1", "find", {"pin": "4821"}),))
    found = ask(turn_on(rows), "4821", rows)
    assert (found.verdict, found.seq) == ("elsewhere", 2)
    assert "a part of seq 2 does" in found.sentence


def test_a_text_of_the_turns_own_transcript_is_found_there(turn_on: Any, rows_of: Any, call_of: Any) -> None:
    record = turn_on(rows_of("u q"), transcript=(*call_of("find-notes", {}, "due on Monday"), AssistantStep(2, "ok")))
    assert ask(record, "monday").sentence == (
        'no stored message said "monday" when turn 3 opened: a result of find-notes of its own step 1 did'
    )


def test_a_text_of_a_later_row_is_found_as_later(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u q", "a An answer.", "u about Zebras")
    found = ask(turn_on(rows[:1]), "zebra", rows)
    assert found.verdict == "later"
    assert found.sentence == (
        'seq 3 says "zebra", and is later than the context of turn 3: the thread held 1 rows then'
    )


def test_nothing_says_it(turn_on: Any, rows_of: Any) -> None:
    rows = rows_of("u q")
    found = ask(turn_on(rows), "unicorn\x1b[2J", rows)
    assert found.verdict == "nowhere"
    assert found.sentence == 'nothing in this thread says "unicorn\\u001b[2J"'


def test_a_turn_without_a_context_says_so(turn_on: Any, rows_of: Any) -> None:
    record = replace(turn_on(rows_of("u q")), context=None)
    assert ask(record, 1).sentence == "turn 3 has no recorded context: it ended before one was assembled"


def test_X7_a_dropped_row_names_the_experiment(turn_on: Any, rows_of: Any) -> None:
    record = turn_on(rows_of("u a", "u b", "u c"), omitted={2: "dropped"})
    assert "dropped; the experiment left it out; the window counted it all the same" in ask(record, 2).sentence
