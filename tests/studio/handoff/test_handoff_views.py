"""The panes of a handoff from values alone: every row accounted for, units held together, one finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.abl.history_setting import HistorySetting, LastN, read_line, resolve
from runtime.handoff.events import Carried, ChildSeen, HandoffEvent, ThreadResume, Trigger
from runtime.handoff.evidence import Evidence, what_if
from runtime.handoff.strategy import Barred, place_of
from runtime.values.diagnostic import Diagnostic
from runtime.values.messages import Message, Origin, Row, Unreadable, tool_call_part, tool_result_part
from runtime.values.record import LeftOut
from studio_tui.views.handed import Gathered, Joined, Shown, Tried, row_text
from studio_tui.views.handoff import caller_pane, strategy_pane, target_pane
from studio_tui.views.handoff_words import finding, in_force_words, read_words, short_place, why
from studio_tui.views.lines import Line, Pane

AT = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def rows_of(*words: str | None) -> list[Row]:
    """`u hello`, `a hi`, `c` a call, `t` its result; None a row that cannot be read."""
    found: list[Row] = []
    for seq, word in enumerate(words, start=1):
        if word is None:
            found.append(Unreadable(seq, "text is null", seq))
            continue
        kind, _, text = word.partition(" ")
        role = {"u": "user", "a": "assistant", "c": "assistant", "t": "tool"}[kind]
        parts = {
            "c": (tool_call_part("c1", "order_lookup", {"order": "ORD-1"}),),
            "t": (tool_result_part("c1", "order_lookup"),),
        }.get(kind)
        found.append(Message(seq, role, text, parts, None, AT, seq))  # type: ignore[arg-type]  # one of the four
    return found


LAMP = (
    "u Hello there",
    "a How can I help?",
    "u I bought a lamp",
    "c",
    "t shipped",
    "a It came on Monday",
    "u I want to return it",
)


def shown_of(rows: Sequence[Row], written: str, *, barred: Barred | None = None) -> Shown:
    """What the screen shows of a handoff by a route with this HISTORY; the last row is the trigger."""
    setting = HistorySetting(written, "agents/hub.agent.abl", 38, read_line(written))
    evidence = Evidence("hub", rows, barred=barred or Barred())
    force = resolve(setting, None, False)
    copying = evidence.choose(force)
    places = tuple(place_of(thread, row) for row, thread in zip(copying.kept, copying.threads, strict=True))
    trigger = rows[-1].seq if rows else 0
    event = HandoffEvent(
        n=1, caller="Hub", target="Returns", caller_thread="hub", thread="ret", turn="t1",
        route="agents/hub.agent.abl:34", written=written, written_at="agents/hub.agent.abl:38", strategy=force.name,
        source=force.source, as_written=setting.read is not None, requested=force.requested, copied=len(places),
        rows=places, left_out=copying.left_out, caller_rows=len(rows),
        trigger=Trigger(trigger, ("hub", trigger) in places),
        carried=Carried({}, {}, ""), returns=False, has_summary=False, matches=True,
    )  # fmt: skip
    return Shown(event, tuple(rows), {"hub": "Hub", "ret": "Returns"})


def lines_of(pane: Pane) -> dict[str, Line]:
    return {line.id: line for line in pane.lines}


def verdict(line: Line) -> str:
    return " ".join(span.text.strip() for span in line.right)


def test_H3_a_unit_is_held_together_by_brackets() -> None:
    lines = lines_of(caller_pane(shown_of(rows_of(*LAMP), "full")))
    assert "┌" in lines["row:4"].text
    assert "└" in lines["row:5"].text
    assert "┌" not in lines["row:3"].text
    assert lines["unit"].text == "┌└ one unit: never split"
    assert "→ order_lookup(ORD-1)" in lines["row:4"].text
    assert "← shipped" in lines["row:5"].text


def test_H13_the_trigger_is_marked_copied_or_not() -> None:
    assert verdict(lines_of(caller_pane(shown_of(rows_of(*LAMP), "full")))["row:7"]) == "copied = request"
    assert verdict(lines_of(caller_pane(shown_of(rows_of(*LAMP), "none")))["row:7"]) == "request"


def test_X1_the_reason_stands_under_the_last_row_of_its_range() -> None:
    lines = lines_of(caller_pane(shown_of(rows_of(*LAMP), "last_2")))
    assert verdict(lines["row:5"]) == "out"
    assert lines["note:5:0"].text == "out: older-than-count"
    assert lines["note:5:0"].of == "row:5"
    assert "note:4:0" not in lines
    assert verdict(lines["row:6"]) == "copied"


def test_X1_what_the_customer_said_of_a_sensitive_value_is_out_for_that() -> None:
    barred = Barred(rows=frozenset({("hub", 3)}))
    lines = lines_of(caller_pane(shown_of(rows_of(*LAMP), "full", barred=barred)))
    assert verdict(lines["row:3"]) == "out"
    assert lines["note:3:0"].text == "out: sensitive-child"


def test_X3_the_what_if_stands_in_a_column_of_its_own() -> None:
    rows = rows_of(*LAMP)
    shown = shown_of(rows, "full")
    found = what_if(Evidence("hub", rows), "last_3")
    tried = replace(shown, tried=Tried("last_3", found.force, found.copying))
    pane = caller_pane(tried)
    assert pane.badge == "RECORD + WHAT IF"
    assert verdict(lines_of(pane)["row:6"]) == "copied copied"
    assert verdict(lines_of(pane)["row:5"]) == "copied out"
    assert caller_pane(shown).badge == "RECORD"


def test_a_message_unfolds() -> None:
    shown = shown_of(rows_of(*LAMP), "full")
    assert not lines_of(caller_pane(shown))["row:3"].wrap
    assert lines_of(caller_pane(shown, folds=frozenset({"row:3"})))["row:3"].wrap


@given(st.lists(st.sampled_from(["u x", "a y", "c", "t r", None]), min_size=1, max_size=30), st.integers(0, 32))
def test_X1_every_row_is_copied_or_out_with_a_reason(words: list[str | None], count: int) -> None:
    rows = rows_of(*words, "u the trigger")
    for written in ("full", "none", f"last_{count}"):
        shown = shown_of(rows, written)
        lines = lines_of(caller_pane(shown))
        told = [verdict(lines[f"row:{row.seq}"]) for row in rows]
        assert sum(one.startswith("copied") for one in told) == shown.event.copied  # type: ignore[union-attr]  # a handoff
        for row, one in zip(rows, told, strict=True):
            assert one in ("copied", "out", "request", "copied = request")
            assert (one == "out") == (row.seq in shown.reasons and row.seq != len(rows))


def test_twenty_thousand_rows_are_made_when_they_are_looked_at() -> None:
    rows = rows_of(*["u hello", "a hi"] * 10_000)
    pane = caller_pane(shown_of(rows, "last_6"))
    assert len(pane.lines) > 20_000
    assert "hello" in pane.lines[1].text
    assert pane.lines[len(pane.lines) - 1].id != ""


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("recent", "Returns got everything: HISTORY: recent at hub:38 reads as no setting, so full. Write full, none,"
                   " summary_only, auto or a count such as last_5."),
        ("off", "Returns got everything: HISTORY: off at hub:38 reads as no setting, so full. Write HISTORY: none."),
        ("mode last_n, count 0", "Returns got everything: count: 0 at hub:38 reads as no setting, so full. "
                                 "Write HISTORY: none."),
        ("mode last_n, count -3", "Returns got everything: count: -3 at hub:38 reads as no setting, so full. "
                                  "Write HISTORY: none."),
        ("last_6", "Returns got 5 of 7 messages of Hub, as HISTORY: last_6 at hub:38 says: copied 5, sent 4 + "
                   "the request."),
        ("none", "Returns got no messages, as HISTORY: none at hub:38 says: copied 0, sent 0 + the request."),
    ],
)  # fmt: skip
def test_X8_the_finding_is_a_sentence_with_its_numbers(written: str, sentence: str) -> None:
    words = list(LAMP)
    if written == "last_6":
        words[0:2] = ["c", "t early"]
    assert finding(shown_of(rows_of(*words), written)) == sentence


def test_X8_a_route_without_HISTORY_says_so() -> None:
    shown = shown_of(rows_of(*LAMP), "full")
    event = replace(shown.event, written=None, written_at="", source="platform")  # type: ignore[arg-type]  # a handoff
    assert finding(replace(shown, event=event)).startswith(
        "Returns got everything: the route at hub:34 has no HISTORY, so full (platform default). Write full,"
    )


def test_X8_a_call_that_does_not_hold_what_is_in_force_is_told() -> None:
    shown = shown_of(rows_of(*LAMP), "full")
    event = replace(shown.event, matches=False)  # type: ignore[arg-type]  # a handoff
    shown = replace(shown, event=event)
    assert "does not hold what is in force" in finding(shown)
    assert "✘ does not match what is in force" in {line.text for line in target_pane(shown).lines}


def test_H7_a_resumed_thread_copies_nothing_and_says_so() -> None:
    event = ThreadResume(
        1, "Hub", "Returns", "hub", "ret", "t1", "agents/hub.agent.abl:34", "last_2", "agents/hub.agent.abl:38", 5,
        (LeftOut(1, 7, "thread-resumed"),), Trigger(7, False), Carried({"order": "ORD-1"}, {}, ""), True,
    )  # fmt: skip
    shown = Shown(event, tuple(rows_of(*LAMP)))
    assert "HISTORY: last_2 at hub:38 is not applied to a thread that waits" in finding(shown)
    lines = lines_of(caller_pane(shown))
    assert lines["note:6:0"].text == "out: thread-resumed"
    assert "nothing to try" in lines_of(strategy_pane(shown, ("none",)))["what-if"].text


def test_H6_the_reading_names_the_code_and_what_to_write() -> None:
    shown = shown_of(rows_of(*LAMP), "recent")
    problem = Diagnostic("agents/hub.agent.abl", 38, 14, "W330", "warning", "`recent` is not recognised, so x; write y")
    route_history = HistorySetting("recent", "agents/hub.agent.abl", 38, None)
    from runtime.abl import compile_text

    source, _ = compile_text(
        'SUPERVISOR: Hub\nGOAL: "x"\nHANDOFF:\n  - TO: Returns\n    WHEN: a IS SET\n    HISTORY: recent\n',
        "hub.agent.abl",
    )
    assert source is not None
    shown = replace(shown, problems=(problem,), route=replace(source.routes[0], history=route_history))
    assert read_words(shown) == "nothing usable  W330: `recent` is not recognised; write y"
    assert in_force_words(shown) == ("full", "platform default (route unusable, project unset)")
    assert "W330" in lines_of(strategy_pane(shown, ("none",), narrow=True))["read"].text


def test_H5_the_projects_default_is_named_with_its_place() -> None:
    shown = shown_of(rows_of(*LAMP), "recent")
    event = replace(shown.event, source="project", strategy="last_4")  # type: ignore[arg-type]  # a handoff
    default = HistorySetting("last_4", "project.json", 4, LastN(4), "default")
    assert in_force_words(replace(shown, event=event, default=default)) == (
        "last_4",
        "project default project.json:4 (route unusable)",
    )


def test_H2_what_children_handled_is_told_with_its_reason() -> None:
    shown = shown_of(rows_of(*LAMP), "full")
    said = Message(4, "user", "blue", None, None, AT, 90, Origin("col", 4))
    assert isinstance(shown.event, HandoffEvent)
    event = replace(shown.event, children=(ChildSeen("pin", 5, True), ChildSeen("col", 6, False)))
    agents = {**shown.agents, "pin": "Pin_Check", "col": "Colours"}
    lines = lines_of(caller_pane(replace(shown, event=event, agents=agents, joined=(Joined("Colours", said),))))
    assert lines["child:pin"].text == "5 messages handled by Pin_Check"
    assert lines["note:pin"].text == "out: sensitive-child"
    assert "blue" in lines["joined:col:0"].text


@pytest.mark.parametrize(
    ("name", "sensitive", "private"),
    [("pin", False, True), ("access_pin", False, True), ("shipping", False, False), ("colour", True, True),
     ("Password", False, True), ("opinion", False, False), ("card-number", False, True)],
)  # fmt: skip
def test_a_field_is_private_by_its_mark_or_its_name(name: str, sensitive: bool, private: bool) -> None:
    assert Gathered(name, "x", "A", "a:1", sensitive).private is private


def test_why_answers_for_a_seq_for_words_and_for_nothing() -> None:
    shown = shown_of(rows_of(*LAMP), "last_2")
    assert "stays with Hub: older than the rows the handoff copies" in why(shown, "lamp")
    assert "was copied to Returns: last_2 is in force" in why(shown, "6")
    assert "was copied, and is the request of Returns's first turn" in why(shown, "return it")
    assert "no message of Hub is 'bananas'" in why(shown, "bananas")


def test_places_are_short_in_sentences() -> None:
    assert short_place("agents/retail-hub.agent.abl:38") == "retail-hub:38"
    assert short_place("project.json:4") == "project.json:4"


def test_a_row_that_cannot_be_read_says_so() -> None:
    assert row_text(Unreadable(1, "text is null", 1)) == "cannot be read: text is null"
