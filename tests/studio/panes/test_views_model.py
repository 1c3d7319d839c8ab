"""MODEL as values: each step, call, fallback and delegated turn, and in plain words how it ended (T2 to T8, Q5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from runtime.explain import what_if
from runtime.values.items import AssistantStep, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.messages import Row
from runtime.values.record import Attempt, StepRecord, ToolOffered, TurnRecord, View
from runtime.values.usage import Usage
from studio_tui.views.lines import Line, Pane
from studio_tui.views.model import Live, model_pane

Turns = Callable[..., TurnRecord]
Plain = Callable[[Pane], list[str]]

CALL = ToolCall("c1", "set-tone", {"tone": "detailed"})
RESULT = ToolResult("c1", "set-tone", {"tone": "detailed"})
TWO_STEPS = (AssistantStep(1, "", (CALL,)), ToolResults(1, (RESULT,)), AssistantStep(2, "They cover [/b] it."))


def by_id(pane: Pane, id: str) -> Line:
    return next(line for line in pane.lines if line.id == id)


def test_T2_steps_calls_results_and_where_the_answer_went(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    record = turn(friday, transcript=TWO_STEPS)
    estimate = record.steps[0].estimate
    pane = model_pane(record)
    assert (pane.title, pane.badge) == ("MODEL of turn 3", "RECORD")
    assert plain(pane) == [
        f" step 1  offline  est {estimate} · said –",
        '  → set-tone {"tone":"detailed"}',
        '  ← {"tone":"detailed"} | 0.00 s',
        f" step 2  offline  est {estimate} · said –",
        "  They cover [/b] it.",
        "",
        " ✔ completed; the answer is stored as seq 15 | 0.50 s",
        "   next turn sees   the request (seq 14), the answer (seq 15)",
        "   and not          1 call, 1 result",
    ]


def test_M5_what_the_provider_counted_stands_beside_the_estimate(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    attempt = Attempt(1, "openai:small", "ok", estimate=100, usage=Usage(80, 7))
    record = turn(friday, tiers=(attempt,), steps=(StepRecord(1, 100, {"history": 60, "tools": 40}, 1.5),))
    assert plain(model_pane(record))[0] == " step 1  openai:small  est 100 · said 80 in, 7 out · est 25% over"
    assert plain(model_pane(record, folds=frozenset({"step:1"})))[1:4] == [
        "    history | 60",
        "    tools | 40",
        "    time until it had answered | 1.50 s",
    ]


def test_M2_each_fallback_is_one_line_with_status_and_the_servers_words(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    tiers = (
        Attempt(1, "openai:big", "status", 401, "bad key [/b]", seconds=0.1, configuration=True),
        Attempt(1, "openai:small", "connection", None, "refused", seconds=0.2),
        Attempt(1, "openai:small", "ok", seconds=0.3),
    )
    assert plain(model_pane(turn(friday, tiers=tiers)))[1:4] == [
        "  ✘ openai:big  401  configuration error  bad key [/b] | 0.10 s",
        "  ✘ fallback to  openai:small  connection  refused | 0.20 s",
        "  ✔ tried again  openai:small | 0.30 s",
    ]


def test_T6_asked_again_after_an_empty_step(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    transcript = (AssistantStep(1, ""), Nudge(1, "Please answer."), AssistantStep(2, "done"))
    told = plain(model_pane(turn(friday, transcript=transcript)))
    assert told[1:3] == ["  said nothing: no text, no calls", "  ↻ asked again  Please answer."]
    assert told[-1].strip() == "and not          1 time asked again"


def test_T4_an_error_result_and_arguments_that_are_no_object(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    call = ToolCall("c1", "calc", "{oops")
    result = ToolResult("c1", "calc", "arguments are no JSON object", error=True, abandoned=True)
    told = plain(model_pane(turn(friday, transcript=(AssistantStep(1, "", (call,)), ToolResults(1, (result,))))))
    assert told[1:4] == [
        "  → calc {oops  not a JSON object",
        "  ← error  arguments are no JSON object | 0.00 s",
        "    could not be interrupted: what it returned later was dropped",
    ]


def _delegating(turn: Turns, friday: list[Row]) -> TurnRecord:
    child = replace(
        turn(friday, window=0),
        turn="child1",
        agent="researcher",
        kind="child",
        number=0,
        stored_user=None,
        stored_assistant=None,
        unstored_user="child-turn",
        unstored_assistant="child-turn",
    )
    call = ToolCall("c1", "researcher", {"brief": "look it up"})
    transcript = (
        AssistantStep(1, "", (call,)),
        ToolResults(1, (ToolResult("c1", "researcher", "found", turn="child1"),)),
    )
    return turn(friday, transcript=(*transcript, AssistantStep(2, "It says: found")), children={"c1": child})


def test_T8_a_delegated_turn_unfolds_and_can_be_entered(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    record = _delegating(turn, friday)
    told = plain(model_pane(record))
    assert told[1:5] == [
        '  → researcher {"brief":"look it up"}',
        "   ▸ delegated to researcher  w0  ✔ 1 step",
        "     ⏎ enter its CONTEXT and MODEL",
        "  ← found | 0.00 s",
    ]
    opened = model_pane(record, folds=frozenset({"delegated:child1"}))
    told = plain(opened)
    assert told[2].startswith("   ▾ delegated")
    assert told[3].strip() == "given no stored message: its window is 0"
    assert told[4].startswith("     step 1")
    assert told[5].strip() == "An answer."
    assert by_id(opened, "child:child1").fold is None
    ids = [line.id for line in opened.lines]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        (
            {"status": "failed", "reason": "model-error", "error": "503 [/b]"},
            "✘ failed: no model answered (model-error): ",
        ),
        ({"status": "cut", "reason": "steps"}, "⊘ ended: the model calls granted to the turn ran out (steps); "),
        ({"status": "stopped"}, "■ stopped; "),
        ({"status": "truncated"}, "⋯ truncated: the model reached its output limit; "),
    ],
)
def test_T5_each_ending_has_a_mark_and_plain_words(
    turn: Turns, plain: Plain, friday: list[Row], fields: dict[str, Any], expected: str
) -> None:
    record = turn(friday, answer=None, stored_assistant=None, unstored_assistant="turn-failed", **fields)
    told = next(text for text in plain(model_pane(record)) if text.startswith(f" {expected}"))
    assert "no answer is stored" in told


def test_F1_an_overflow_says_what_takes_how_much_and_what_is_to_blame(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    overflow = StepRecord(1, 9000, {"history": 500, "request": 8400, "overhead": 100}, 0.0)
    record = turn(
        friday,
        transcript=(),
        status="failed",
        reason="fit-overflow",
        overflow=overflow,
        answer=None,
        stored_assistant=None,
        unstored_assistant="turn-failed",
    )
    told = plain(model_pane(record))
    at = told.index("     request | 8400")
    assert told[at + 1 : at + 3] == ["     history | 500", "     framing | 100"]
    assert told[at + 3] == "     9000 + 1024 kept for the answer, of 8192 | 10024"
    assert told[at + 4].startswith("   ! no window can help turn 3")


def test_X3_the_what_if_is_a_block_of_its_own_and_says_it_is_not_run(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    record = turn(friday, tools=(ToolOffered("set-tone", "", {}, 90),))
    assert record.context is not None
    laid = what_if(record.context, friday, 3)
    told = plain(model_pane(record, what_if=laid))
    at = told.index("─ what if: window 3 · not run ─")
    assert told[at + 1] == f"   {laid.sentence}"
    assert told[at + 2] == "   ^r runs it on a view before seq 14: 1 or more model calls (offline)"
    assert told[at + 3] == "   its tools run LIVE, on the run's own state: set-tone"
    assert not any("what if" in text for text in plain(model_pane(record)))


def _run(turn: Turns, friday: list[Row], record: TurnRecord, **fields: Any) -> TurnRecord:
    fields = {"answer": "Nothing I was given mentions it.", **fields}
    return replace(
        turn(friday, window=2),
        turn="a91c",
        number=0,
        rerun_of=record.turn,
        view=View(13),
        stored_user=None,
        stored_assistant=None,
        **fields,
    )


def test_X4_a_re_run_stands_below_with_its_answer_and_how_it_differs(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    record = turn(friday)
    run = _run(turn, friday, record)
    told = plain(model_pane(record, reruns=[run], now=run.at + timedelta(minutes=2)))
    at = told.index(" ↻ re-run w2  ✔  a91c  2 min ago")
    assert told[at + 1 : at + 3] == [
        "   Nothing I was given mentions it.",
        "   answer differs · lacked 9-12",
    ]
    same = _run(turn, friday, record, answer=record.answer)
    assert "   the same answer · lacked 9-12" in plain(model_pane(record, reruns=[same]))


def test_X4_a_run_itself_says_that_nothing_of_it_is_stored(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    run = _run(turn, friday, turn(friday))
    assert plain(model_pane(run))[-1] == (
        "   next turn sees   nothing of it: a re-run looks at the thread and never writes to it"
    )


def test_a_running_turn_shows_what_came_so_far(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    record = turn(friday, transcript=TWO_STEPS[:2], status="running", answer=None, stored_assistant=None, seconds=None)
    live = Live(2, "offline", "Your no")
    pane = model_pane(record, live=live)
    assert pane.badge == "RUNNING"
    assert plain(pane)[3:5] == [" step 2  offline  running", "  Your no▏"]
    calling = Live(2, "offline", "", (CALL, replace(CALL, id="c2")), (replace(RESULT, id="c2"),))
    assert plain(model_pane(record, live=calling))[4:8] == [
        '  → set-tone {"tone":"detailed"}',
        "  … running",
        '  → set-tone {"tone":"detailed"}',
        '  ← {"tone":"detailed"} | 0.00 s',
    ]


def test_C27_text_that_was_stopped_stays_in_the_record_and_is_marked(
    turn: Turns, plain: Plain, friday: list[Row]
) -> None:
    record = turn(
        friday,
        transcript=(AssistantStep(1, "Hello", partial=True),),
        status="stopped",
        answer=None,
        stored_assistant=None,
        unstored_assistant="turn-stopped",
    )
    told = plain(model_pane(record))
    assert told[1:3] == ["  Hello", "  cut off here"]
    assert told[-1] == "   and not          what was said of an answer"


def test_Q5_no_word_of_the_machine_room_is_on_the_screen(turn: Turns, plain: Plain, friday: list[Row]) -> None:
    told = " ".join(plain(model_pane(_delegating(turn, friday))))
    for word in ("settle", "envelope", "nudge", "tier", "transcript", "child"):
        assert word not in told.casefold()
