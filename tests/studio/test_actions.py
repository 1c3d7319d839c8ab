"""The table of actions: keys that arrive and that no text box takes, one word for each thing."""

from __future__ import annotations

import pytest
from textual.binding import Binding
from textual.widgets import Input, TextArea

from studio_tui.actions import (
    ACTIONS,
    BY_ID,
    Action,
    Focus,
    Situation,
    applies,
    bindings,
    in_footer,
    in_help,
    in_palette,
    written,
)
from studio_tui.glossary import GLOSSARY, meaning


def keys_of_text_boxes() -> set[str]:
    found: set[str] = set()
    for box in (TextArea, Input):
        for binding in box.BINDINGS:
            keys = binding.key if isinstance(binding, Binding) else binding[0]
            found.update(key.strip() for key in keys.split(","))
    return found


TAKEN = keys_of_text_boxes() - {"ctrl+c", "enter"}
"""What a text box does with ctrl+c is copying, which `stop` does too; Enter is the composer's own key."""


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_no_key_is_one_that_does_not_arrive_or_that_a_text_box_takes(action: Action) -> None:
    for key in (*action.keys, *action.typing):
        assert not key.startswith("alt+"), key
        assert not key.startswith("ctrl+shift"), key
        assert key not in ("ctrl+left", "ctrl+right", "ctrl+up", "ctrl+down", "ctrl+enter", "shift+enter"), key
        assert key not in ("ctrl+m", "ctrl+h", "ctrl+i", "ctrl+left_square_bracket", "ctrl+b"), key
        assert key not in TAKEN, f"{key} is taken by a text box"
    for key in action.browse:
        assert not key.startswith(("ctrl", "alt")), f"{key}: browse keys are plain"


def test_letters_are_never_keys_while_typing() -> None:
    for action in ACTIONS:
        for key in (*action.keys, *action.typing):
            assert len(key) > 1, f"{action.id} takes the letter {key}"


@pytest.mark.parametrize("place", ["typing", "browse"])
def test_no_key_means_two_things(place: str) -> None:
    """Once something was found, n goes on to the next place and is no key for a fresh thread."""
    for found in (False, True):
        now = Situation(focus="context", line="row", run=True, runs=1, overlay=True, turn=3, found=found)
        seen: dict[str, str] = {}
        for action in ACTIONS:
            for key in (*action.keys, *(action.typing if place == "typing" else action.browse)):
                if key == "n" and not applies(action.id, now):
                    continue
                assert key not in seen, f"{key}: {seen.get(key)} and {action.id}"
                seen[key] = action.id


def test_every_key_of_the_wireframes_has_its_action() -> None:
    wanted = {
        "enter": "send", "ctrl+j": "newline", "f3": "smaller", "f4": "larger", "ctrl+g": "window", "ctrl+r": "rerun",
        "ctrl+n": "reseed", "ctrl+t": "fork", "ctrl+l": "compare", "ctrl+f": "why", "ctrl+o": "open", "ctrl+c": "stop",
        "tab": "next_pane", "shift+tab": "previous_pane", "ctrl+p": "palette", "f1": "help", "ctrl+q": "quit",
    }  # fmt: skip
    assert {key: action.id for action in ACTIONS for key in (*action.typing, *action.keys) if key in wanted} == wanted
    browse = {
        "enter": "choose", "minus": "smaller", "plus": "larger", "3": "digit", "a": "all_rows", "r": "rerun",
        "n": "reseed", "f": "fork", "c": "compare", "space": "mark", "slash": "find", "o": "open", "s": "stop",
        "left_square_bracket": "previous_turn", "right_square_bracket": "next_turn", "question_mark": "help",
        "y": "copy", "w": "wire", "e": "edit", "A": "adopt",
    }  # fmt: skip
    at_rest = Situation(focus="context")
    found = {
        key: action.id
        for action in ACTIONS
        for key in action.browse
        if key in browse and (key != "n" or applies(action.id, at_rest))
    }
    assert found == browse


def test_esc_never_stops_anything() -> None:
    esc = [action for action in ACTIONS if "escape" in (*action.keys, *action.typing, *action.browse)]
    assert {action.id for action in esc} == {"browse", "back"}


def test_stop_is_the_one_priority_key_beside_quit() -> None:
    assert {action.id for action in ACTIONS if action.priority} == {"stop", "quit"}


@pytest.mark.parametrize("focus", ["composer", "turns", "context", "model"])
def test_the_footer_shows_only_keys_that_work_in_the_focus(focus: Focus) -> None:
    now = Situation(focus=focus, line="turn", runs=1, running=True, turn=3, overlay=True)
    for _, _, action in in_footer(now):
        assert applies(action.id, now)
        own = action.browse if focus != "composer" else action.typing
        assert action.keys or own, action.id


def test_the_footer_follows_the_state() -> None:
    def ids(**now: object) -> set[str]:
        return {action.id for _, _, action in in_footer(Situation(**now))}  # type: ignore[arg-type]  # a test's dict

    assert "stop" not in ids()
    assert "stop" in ids(running=True)
    assert "send" not in ids(busy=True)
    assert "compare" not in ids()
    assert "compare" in ids(runs=1)
    assert "rerun" not in ids(selected=False, coming=True)
    assert "send" not in ids(focus="turns")
    assert "mark" in ids(focus="turns", line="turn")


def test_the_footer_names_the_selected_turn() -> None:
    words = {action.id: word for _, word, action in in_footer(Situation(turn=3))}
    assert words["rerun"] == "re-run turn 3"
    assert {action.id: word for _, word, action in in_footer(Situation(turn=0))}["rerun"] == "re-run turn"


def test_the_palette_holds_what_applies_and_the_help_everything() -> None:
    assert {action.id for action in in_palette(Situation())} <= set(BY_ID)
    assert "stop" not in {action.id for action in in_palette(Situation())}
    assert [action.id for _, _, action in in_help()] == [action.id for action in ACTIONS]


def test_every_bound_key_is_one_of_the_table() -> None:
    bound = {key for _, key in bindings()}
    assert {"ctrl+r", "r", "f3", "ctrl+c", "5"} <= bound
    assert "ctrl+j" not in bound, "the composer binds its own keys"


@pytest.mark.parametrize(("key", "shown"), [("ctrl+r", "^r"), ("f3", "F3"), ("enter", "⏎"), ("f", "f"), ("Y", "Y")])
def test_keys_are_written_as_people_read_them(key: str, shown: str) -> None:
    assert written(key) == shown


def test_Q5_one_glossary_with_one_meaning_for_each_word() -> None:
    words = [word for names, _ in GLOSSARY for word in names.split(", ")]
    assert len(words) == len(set(words))
    for word in ("request", "delegated", "fallback", "asked again", "ended", "budget"):
        assert meaning(word)
    assert meaning("offline").startswith("no LLM: quotes only what it sees")
    assert meaning("no such word") == ""
