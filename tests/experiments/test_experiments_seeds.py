"""Each shipped seed has a sweep that shows its lesson, with the models that need no key."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from runtime import Runtime, open_store
from runtime.experiments import Sweep, SweepSpec, announce, read_enough, run_ablation, run_sweep
from runtime.experiments.results import AblateSpec
from runtime.experiments.verify import verify
from runtime.seeds import parse_seed, shipped_seed, shipped_seed_names
from runtime.subject import Changes
from runtime.values.messages import Window
from tests.experiments.conftest import dump


@dataclass(frozen=True, slots=True)
class Lesson:
    """What to ask of a seed, after which turns, and what the sweep then says."""

    request: str
    enough: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    windows: tuple[Window, ...] = ()
    smallest: Window | None = None
    row: int | None = None
    says: str = ""


LESSONS = {
    "friday-notes": Lesson("When is the Friday draft due?", ("contains: 5th",), smallest=15, row=1, says="only seq 1"),
    "long-thread": Lesson("Who keeps the spare key of the greenhouse?", smallest=31, row=11, says='"Lund"'),
    "one-of-forty": Lesson(
        "Which locker is the heavy tripod in?", ("contains: locker 12",), smallest=25, row=17, says="only seq 17"
    ),
    "asked-twice": Lesson("Where do we meet tomorrow?", ("contains: north gate",), smallest=2, row=4),
    "researcher": Lesson("What is the code for the gate?", ("contains: 4417",), smallest=5, row=1),
    "tone-later": Lesson(
        "What is the tone?", ("contains: detailed",), ("Be detailed from now on.",), smallest=0,
        says='"detailed" stands in the state views',
    ),
    "forgotten-result": Lesson(
        "And on which day does it arrive?", ("contains: 12 May",), ("Is order A-1042 on its way?",),
        says="transcript-only",
    ),
    "failed-before": Lesson(
        "Where does invoice 31 go?", ("contains: nobody answered",), ("Has invoice 31 been paid?",), smallest=3, row=2,
    ),
    "one-huge-message": Lesson(
        "Why does the link step fail?", ("contains: undefined",), windows=(1, 2, 3),
        says="2 is enough, but a larger window is not (3, all)",
    ),
    "no-room": Lesson("Is a bicycle a vehicle?", says="to blame: the instructions"),
}  # fmt: skip


async def swept(name: str, lesson: Lesson) -> tuple[Runtime, Sweep]:
    runtime = Runtime(open_store("memory:"))
    thread = await runtime.create_thread(seed=name)
    for request in lesson.after:
        await runtime.send(thread, request)
    before = await dump(runtime.store, thread)
    subject = await runtime.subject_on(thread, lesson.request)
    spec = SweepSpec(lesson.windows, enough=read_enough(lesson.enough), smallest=True, repeats=2)
    found = await run_sweep(runtime, subject, spec)
    assert await dump(runtime.store, thread) == before
    return runtime, found


@pytest.mark.parametrize("name", shipped_seed_names())
async def test_a_sweep_of_a_shipped_seed_shows_its_lesson(name: str) -> None:
    lesson = LESSONS[name]
    _, found = await swept(name, lesson)
    assert found.smallest_sufficient == lesson.smallest, found.finding
    assert found.edge_tested == (lesson.smallest is not None)
    assert lesson.says in found.finding
    rows = [row.seq for row in found.because.rows] if found.because is not None else []
    assert lesson.row is None or rows[0] == lesson.row


async def test_a_tool_result_that_was_never_stored_is_named_where_no_window_brings_it() -> None:
    _, found = await swept("forgotten-result", LESSONS["forgotten-result"])
    assert found.because is not None
    assert "a result of look-up-order in step 1 of turn 1" in found.because.sentence
    assert "no window brings it" in found.because.sentence


async def test_one_of_forty_is_also_named_by_leaving_each_out() -> None:
    runtime, found = await swept("one-of-forty", LESSONS["one-of-forty"])
    assert len(found.groups) >= 6
    subject = await runtime.subject_on(found.thread, found.request)
    assert (await announce(runtime, subject, AblateSpec(25))).remote == ()
    left_out = await run_ablation(runtime, subject, AblateSpec(25, enough=found.spec.enough, repeats=2))
    assert [(one.piece.key, one.changed) for one in left_out.decisive] == [(17, 2)]


@pytest.mark.parametrize("name", shipped_seed_names())
async def test_verify_and_sweep_mean_the_same_smallest(name: str) -> None:
    for expectation in shipped_seed(name).expect:
        if expectation.smallest is None:
            continue
        runtime = Runtime(open_store("memory:"))
        thread = await runtime.create_thread(seed=name)
        turn = (await runtime.send(thread, expectation.request, window=expectation.window)).turn
        texts = [f"contains: {text}" for text in expectation.answer.contains]
        spec = SweepSpec(enough=read_enough(texts), smallest=True, changes=Changes("recorded"))
        found = await run_sweep(runtime, await runtime.subject(turn), spec)
        assert found.smallest_sufficient == expectation.smallest


SEED = """\
seed: plain
agent: {{agent: plain-one, tiers: [offline]}}
messages:
  - user: The code is 4417.
  - assistant: Noted.
  - user: What else?
  - assistant: Nothing.
expect:
  - request: What is the code?
    window: all
    answer: {{contains: ["4417"]}}
    smallest: {smallest}
    sameAnswer: {same}
"""


@pytest.mark.parametrize(
    ("smallest", "same", "failure"),
    [
        ("5", "[5, all]", ()),
        ("4", "[5, all]", ("the smallest window that is enough is 5, not 4",)),
        ("5", "[2, 5]", ("window 5 answers 'My context says: \"The code is 4417.\"'",)),
    ],
)
async def test_verify_speaks_the_words_of_the_sweep(smallest: str, same: str, failure: tuple[str, ...]) -> None:
    seed = parse_seed(SEED.format(smallest=smallest, same=same))
    (outcome,) = [outcome async for outcome in verify(Runtime(open_store("memory:")), seed)]
    assert len(outcome.failures) == len(failure)
    for found, said in zip(outcome.failures, failure, strict=True):
        assert found.startswith(said)
