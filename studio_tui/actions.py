"""One table of actions: from it come the keys, the palette, the footer and the help.

Every key here arrives on plain terminals and in tmux, and none is one that a text box takes for itself (ctrl+c apart,
which copies if text is marked and stops the running turn otherwise). Esc never stops anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

Focus = Literal["composer", "turns", "context", "model"]


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides which actions apply: where the focus is, and what stands on the screen.

    `turn` is the number of the selected turn (0: none, or a run), `selected` that a record is shown, `coming` that it
    is the *next* row, `running` that this app runs a turn, `busy` that the thread's one place is taken by whomever,
    `line` the kind of the highlighted line (`row`, `turn`, `step` ...), `marked` how many turns are marked,
    `overlay` that the window shown is not the one the turn was sent with, `found` that a search goes on, `filed` that
    the seed or the agent has a file, `session` that a project is open, `in_session` that the thread belongs to a
    session, whose agents are spoken to there alone.
    """

    focus: Focus = "composer"
    thread: bool = True
    selected: bool = True
    coming: bool = False
    run: bool = False
    imported: bool = False
    inside: bool = False
    running: bool = False
    busy: bool = False
    seeded: bool = True
    overlay: bool = False
    text_marked: bool = False
    draft: bool = False
    runs: int = 0
    marked: int = 0
    turn: int = 0
    line: str = ""
    narrow: bool = False
    session: bool = False
    in_session: bool = False
    found: bool = False
    filed: bool = True

    @property
    def browsing(self) -> bool:
        """A pane has the focus, so letters are keys."""
        return self.focus != "composer"


def _always(now: Situation) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Action:
    """One thing a person can do on the main screen.

    `keys` work while the composer has the focus and in browse mode, `typing` keys in the composer alone, `browse` keys
    in browse mode alone. `label` is the palette's word for it, `short` the footer's (`{turn}` is the selected turn's
    number), `brief` the footer's on a narrow screen (empty: the same), `sentence` the help's. `when` says when it
    applies. `rank` orders the footer, 0 stands for the palette and help alone. `own` keys are bound by a widget, not
    by the screen. `palette` is False for what makes no sense there. `priority` keys are seen before any widget's own.
    """

    id: str
    label: str
    sentence: str
    keys: tuple[str, ...] = ()
    typing: tuple[str, ...] = ()
    browse: tuple[str, ...] = ()
    short: str = ""
    brief: str = ""
    rank: int = 0
    when: Callable[[Situation], bool] = _always
    own: bool = False
    palette: bool = True
    priority: bool = False

    def shown_key(self, now: Situation) -> str:
        """The key that works in the present focus, as the footer writes it; empty if there is none."""
        here = (*self.browse, *self.keys) if now.browsing else (*self.typing, *self.keys)
        return written(here[0]) if here else ""

    def text(self, now: Situation) -> str:
        """The footer's word for it."""
        word = self.brief if now.narrow and self.brief else self.short
        return word.replace("{turn}", str(now.turn) if now.turn else "").rstrip()


def _can_send(now: Situation) -> bool:
    return now.thread and not now.busy


def _can_rerun(now: Situation) -> bool:
    return now.selected and not now.running and not now.inside and not now.in_session


def _can_compare(now: Situation) -> bool:
    return now.marked == 2 or now.runs > 0 or now.run or (now.marked == 1 and now.selected)


def _can_stop(now: Situation) -> bool:
    return now.running or now.text_marked


def _in_pane(now: Situation) -> bool:
    return now.browsing


def _can_study(now: Situation) -> bool:
    return (now.selected or now.coming) and not now.inside and not now.in_session


def _can_begin(now: Situation) -> bool:
    return now.thread and not now.found and not now.in_session


def _on_row(now: Situation) -> bool:
    return now.focus == "context" and now.line == "row" and now.selected and not now.inside


ACTIONS: tuple[Action, ...] = (
    Action(
        "send", "Send the request as the next turn",
        "Sends what is typed as the next turn of this thread, with the window shown.",
        typing=("enter",), short="send", rank=1, when=_can_send, own=True,
    ),
    Action(
        "newline", "Begin a new line in the request", "Begins a new line in the request.",
        typing=("ctrl+j",), rank=0, own=True, palette=False,
    ),
    Action(
        "choose", "Fold, unfold or open the highlighted line",
        "Folds or unfolds the highlighted line; opens a turn, a run, or a delegated turn.",
        browse=("enter",), short="fold, open", rank=2, when=_in_pane, own=True, palette=False,
    ),
    Action(
        "smaller", "A smaller window", "Shows the next smaller window beside the one that was sent.",
        keys=("f3",), browse=("minus",), short="window −", brief="−", rank=3, when=lambda now: now.thread,
    ),
    Action(
        "larger", "A larger window", "Shows the next larger window beside the one that was sent.",
        keys=("f4",), browse=("plus", "equals_sign"), short="+", rank=4, when=lambda now: now.thread,
    ),
    Action(
        "window", "Type a window: a number or all", "Asks for a window: a whole number, or all.",
        keys=("ctrl+g",), short="window…", rank=5, when=lambda now: now.thread,
    ),
    Action(
        "digit", "Window 0 to 9", "A digit shows that window.",
        browse=tuple("0123456789"), rank=0, when=lambda now: now.thread, palette=False,
    ),
    Action(
        "all_rows", "Window all", "Shows the window that selects every stored message.",
        browse=("a",), rank=0, when=lambda now: now.thread,
    ),
    Action(
        "as_sent", "The window as it was sent", "Takes the what-if away: the record alone, as it was sent.",
        keys=("f2",), browse=("full_stop",), short="as sent", rank=24, when=lambda now: now.overlay,
    ),
    Action(
        "rerun", "Re-run the selected turn with the window shown",
        "Runs the selected turn's request again, with the window shown, on a view of the thread as it was before it. "
        "The thread does not change.",
        keys=("ctrl+r",), browse=("r",), short="re-run turn {turn}", brief="re-run", rank=6, when=_can_rerun,
    ),
    Action(
        "reseed", "Reseed: a fresh thread from the same seed",
        "Starts a fresh thread from the same seed (without a seed: an empty thread with the same agent).",
        keys=("ctrl+n",), browse=("n",), short="reseed", rank=7, when=_can_begin,
    ),
    Action(
        "fork", "Fork at the selected message",
        "Starts a thread that holds the messages up to the highlighted one, and goes on from there.",
        keys=("ctrl+t",), browse=("f",), short="fork", rank=8, when=lambda now: now.thread and not now.in_session,
    ),
    Action(
        "compare", "Compare two turns or runs",
        "Compares the two marked turns, or the selected turn with its last re-run: contexts row by row, steps, answers "
        "word by word.",
        keys=("ctrl+l",), browse=("c",), short="compare", rank=9, when=_can_compare,
    ),
    Action(
        "mark", "Mark the turn for a comparison", "Marks the highlighted turn or run for a comparison.",
        browse=("space",), short="mark", rank=10, when=lambda now: now.focus == "turns" and now.line in ("turn", "run"),
    ),
    Action(
        "sweep", "Sweep: which window is enough, and which message entered there",
        "Runs the request under several windows, on views: which window is enough, and because of which message. What "
        "would be sent to a server is said first, and waits.",
        keys=("f5",), browse=("S",), short="sweep", rank=9, when=_can_study,
    ),
    Action(
        "leave_out", "Leave one out: which part makes the difference",
        "Runs the request without each stored message, state view, paragraph of the instructions and tool result in "
        "turn: whose absence changes the answer.",
        keys=("f8",), browse=("l",), short="leave one out", brief="leave out", rank=18, when=_can_study,
    ),
    Action(
        "why", "Why is ... in or out?",
        "Asks for a message (by number or words) and says in one sentence why it is in the context, or why not.",
        keys=("ctrl+f",), short="why?", rank=11, when=lambda now: now.selected or now.coming,
    ),
    Action(
        "find", "Find in the thread",
        "Finds words in the pane; in CONTEXT also in messages that are folded or left out. n and N go on, Esc ends it.",
        browse=("slash",), short="find", rank=13, when=lambda now: now.thread and now.browsing,
    ),
    Action(
        "next_hit", "The next place found", "Goes to the next place that was found.",
        browse=("n",), short="next", rank=1, when=lambda now: now.found,
    ),
    Action(
        "previous_hit", "The place found before", "Goes to the place before that was found.",
        browse=("N",), short="previous", rank=1, when=lambda now: now.found,
    ),
    Action(
        "ledger", "Every message, with its place or its reason",
        "Lists every message of the thread, and what was never stored, with its place in the context or the reason why "
        "it is not there; typing narrows the list.",
        browse=("L",), short="ledger", rank=18, when=lambda now: now.selected or now.coming,
    ),
    Action(
        "drop_row", "Leave this message out of the next re-run",
        "Leaves the highlighted message out of the next re-run, sweep or leave-one-out of this turn; nothing older "
        "moves up. Again: takes that back.",
        browse=("d",), short="drop", rank=2, when=_on_row,
    ),
    Action(
        "edit_row", "Another text of this message in the next re-run",
        "Gives the highlighted message another text in the next re-run, sweep or leave-one-out of this turn. The "
        "thread does not change.",
        browse=("E",), short="edit", rank=2, when=_on_row,
    ),
    Action(
        "rerun_with", "Re-run with another agent, model, request, instructions or tools",
        "Asks what is to be another in the re-run, says what it will execute and send where, and runs it on a view.",
        browse=("R",), short="re-run with…", brief="with…", rank=6, when=_can_rerun,
    ),
    Action(
        "adopt", "Write the window shown into the agent's file",
        "Writes the window shown as historyWindow into the agent's file, after showing the change.",
        browse=("A",), short="write the window", brief="write", rank=14, when=lambda now: now.overlay and now.filed,
    ),
    Action(
        "edit", "Edit the seed or the agent in $EDITOR, then reseed",
        "Opens the seed at the highlighted message (the agent at its instructions and tools) in $EDITOR, checks it on "
        "return, and reseeds.",
        browse=("e",), short="edit file", brief="edit", rank=18, when=lambda now: now.thread and now.filed,
    ),
    Action(
        "edit_agent", "Edit the agent in $EDITOR, then reseed",
        "Opens the agent's file in $EDITOR, checks it on return, and reseeds.",
        rank=0, when=lambda now: now.thread and now.filed,
    ),
    Action(
        "keep_run", "Make this re-run a thread of its own",
        "Makes the selected re-run a thread: a fork before its request, with its request and answer as newest rows.",
        browse=("F",), short="make it a thread", rank=8, when=lambda now: now.run and not now.running,
    ),
    Action(
        "tree", "The tree of threads: what was forked from what",
        "Shows the thread among those it was forked from and those forked from it; opens, names and deletes them.",
        browse=("t",), short="tree", rank=18, when=lambda now: now.thread,
    ),
    Action(
        "rename", "Give this thread a name", "Gives the thread a name of your own.",
        rank=0, when=lambda now: now.thread,
    ),
    Action(
        "delete", "Delete this thread",
        "Deletes the thread with its turns and experiments, for good, after asking.",
        rank=0, when=lambda now: now.thread and not now.running,
    ),
    Action(
        "back_to_experiment", "The sweep or leave-one-out that is running, or was opened last",
        "Opens the experiment that is running, or the thread's newest one.",
        browse=("v",), rank=0, when=lambda now: now.thread,
    ),
    Action(
        "stop", "Stop the running turn",
        "Stops the running turn at once; what it said so far stays in the record. Copies instead if text is marked.",
        keys=("ctrl+c",), browse=("s",), short="stop", rank=12, when=_can_stop, priority=True,
    ),
    Action(
        "browse", "Browse the panes", "Leaves the composer: letters become keys. Nothing is stopped.",
        typing=("escape",), short="browse", rank=13, own=True, palette=False,
    ),
    Action(
        "back", "Back to the request", "Leaves a delegated turn, else goes back to the composer. Nothing is stopped.",
        browse=("escape",), short="back to the request", brief="back", rank=13, when=_in_pane, palette=False,
    ),
    Action(
        "wire", "The request body as it went on the wire",
        "Shows the body of the highlighted step's request as it was sent, without headers or keys.",
        browse=("w",), short="wire body", brief="wire", rank=14, when=lambda now: now.selected,
    ),
    Action(
        "copy", "Copy the finding", "Copies what the screen has found as one sentence with its numbers.",
        browse=("y",), short="copy finding", brief="copy", rank=15, when=lambda now: now.selected or now.coming,
    ),
    Action(
        "save", "Save the finding, or the marked text, to a file", "Writes the finding, or the marked text, to a file.",
        browse=("Y",), rank=0, when=lambda now: now.selected or now.coming or now.text_marked,
    ),
    Action(
        "previous_turn", "The previous turn", "Selects the turn before.",
        browse=("left_square_bracket",), short="previous", rank=16, when=lambda now: now.thread and now.browsing,
    ),
    Action(
        "next_turn", "The next turn", "Selects the turn after; after the last comes the one that is not sent yet.",
        browse=("right_square_bracket",), short="next turn", rank=17, when=lambda now: now.thread and now.browsing,
    ),
    Action(
        "coming", "What the next turn would be sent", "Selects the next row: what the coming turn would be sent.",
        browse=("x",), rank=0, when=lambda now: now.thread and not now.coming,
    ),
    Action(
        "next_pane", "The next pane", "Goes to the next pane; on a narrow screen to the next tab.",
        keys=("tab",), short="pane", rank=19, palette=False,
    ),
    Action(
        "previous_pane", "The previous pane", "Goes to the pane before.",
        keys=("shift+tab",), rank=0, palette=False,
    ),
    Action(
        "open", "Open a thread, a seed or a file", "Opens a thread, a seed, or a conversation file of your own.",
        keys=("ctrl+o",), browse=("o",), short="open thread, seed or file", brief="open", rank=20,
    ),
    Action(
        "about",
        "About this thread: where it comes from",
        "Says where the thread comes from, what of a file could not be carried, what is recorded and what inferred.",
        browse=("i",),
        rank=0,
        when=lambda now: now.thread,
    ),
    Action(
        "session", "Back to the conversation with the project",
        "Goes to the conversation with the project that is open: speak as the customer, see its handoffs.",
        keys=("f9",), browse=("p",), short="session", rank=2, when=lambda now: now.session,
    ),
    Action(
        "palette", "Every action", "Lists every action; type to find one.",
        keys=("ctrl+p",), short="every action", brief="actions", rank=22, palette=False,
    ),
    Action(
        "help", "What is on this screen", "Says what is on this screen, what the words mean, and which keys work.",
        keys=("f1",), browse=("question_mark",), short="help", rank=9,
    ),
    Action(
        "theme", "Light or dark", "Changes between the dark and the light colours.", rank=0,
    ),
    Action(
        "quit", "Quit", "Leaves the Studio; everything is saved. One line says how to come back.",
        keys=("ctrl+q",), short="quit", rank=23, priority=True,
    ),
)  # fmt: skip

BY_ID = {action.id: action for action in ACTIONS}

_WRITTEN = {
    "enter": "⏎",
    "escape": "esc",
    "tab": "⇥",
    "shift+tab": "⇧⇥",
    "space": "space",
    "minus": "-",
    "plus": "+",
    "equals_sign": "=",
    "slash": "/",
    "question_mark": "?",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "full_stop": ".",
}


def written(key: str) -> str:
    """A key as people read it: `^r`, `F3`, `⏎`."""
    if key in _WRITTEN:
        return _WRITTEN[key]
    if key.startswith("ctrl+"):
        return "^" + key.removeprefix("ctrl+")
    return key.upper() if key.startswith("f") and key[1:].isdigit() else key


def applies(id: str, now: Situation) -> bool:
    """Whether the action applies now; True for names that are no action of the table."""
    action = BY_ID.get(id)
    return action is None or action.when(now)


def bindings() -> Iterator[tuple[Action, str]]:
    """Each key that the screen binds, with its action."""
    for action in ACTIONS:
        if not action.own:
            for key in (*action.keys, *action.browse):
                yield action, key


def in_footer(now: Situation) -> list[tuple[str, str, Action]]:
    """What the footer may show, in order: the key, the word, the action. Only what works here and applies."""
    return [
        (key, action.text(now), action)
        for action in sorted(ACTIONS, key=lambda action: action.rank)
        if action.rank and action.when(now) and (key := action.shown_key(now))
    ]


def in_palette(now: Situation) -> list[Action]:
    """What the palette lists: every action that applies, in the order of the table."""
    return [action for action in ACTIONS if action.palette and action.when(now)]


def in_help() -> list[tuple[str, str, Action]]:
    """Every action for the help: its keys while typing, its keys in browse mode, the action."""
    return [
        (" ".join(written(key) for key in (*action.typing, *action.keys)), _browse_keys(action), action)
        for action in ACTIONS
    ]


def _browse_keys(action: Action) -> str:
    if action.id == "digit":
        return "0…9"
    return " ".join(written(key) for key in action.browse)
