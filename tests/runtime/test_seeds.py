"""Seed files: read strictly and whole, every error with file, line and field (Q1), texts kept as they are (Q4)."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import BadInput
from runtime.schemas import agent_schema, seed_schema
from runtime.seeds import check_file, find_seed, load_seed, parse_seed, shipped_seed_names
from runtime.values.items import ToolCall
from runtime.values.messages import NewMessage, tool_call_part, tool_result_part
from runtime.values.seed import Check, Expectation, ScriptEntry, When

WHOLE = """\
seed: whole
about: Everything a seed can hold
agent:
  agent: scripted
  tiers: [script]
  delegates: [helper]
state: {tone: brief, orders: {A-1: shipped}, list: [yes, 1_000]}
messages:
  - user: Where is A-1?
  - assistant:
    calls:
      - {id: c1, name: look-up-order, arguments: {order: A-1}}
      - {name: calculate, arguments: '{"expression": "1", "digits": 2}'}
      - {id: c9, name: odd, arguments: "no object"}
  - tool: {status: shipped, when: 12:30:00}
    call: c1
  - tool: "2"
    call: c2
  - tool: it broke
    call: c9
    error: true
  - system: Be kind.
    flags: [summary]
  - user: "yes"
    parts: '[{"type": "image", "size": 3}]'
try: ["Is it shipped?", Twice?]
script:
  - when: {turn: 1, step: 1, tier: 1, request: shipped, history: A-1, result: x}
    calls: [{name: set-tone, arguments: {tone: detailed}}]
  - {texts: [one, two], chunks: 5, delay: 0.25}
  - {when: {request: a}, fail: busy, status: 503, retryAfter: 2}
  - {when: {request: b}, empty: true}
  - {when: {request: c}, text: half, cut: true}
  - {when: {request: d}, text: long, truncate: true}
expect:
  - request: Is it shipped?
    after: [Hello]
    window: 2
    context: {selected: 2, contains: [A-1], lacks: PIN}
    answer: {contains: [shipped], lacks: [lost], matches: "^It", equals: It is shipped}
    calls: [look-up-order]
    status: failed
    reason: model-error
    smallest: all
    sameAnswer: [2, all]
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "helper.yaml").write_text("agent: helper\n")
    return tmp_path


def write(folder: Path, text: str, name: str = "s.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_a_seed_is_read_whole(folder: Path) -> None:
    path = write(folder, WHOLE)
    seed = load_seed(path)
    assert (seed.name, seed.about, seed.agent) == ("whole", "Everything a seed can hold", "scripted")
    assert (seed.file, len(seed.digest), seed.shipped) == (str(path), 64, False)
    assert sorted(seed.agents) == ["helper", "scripted"]
    assert seed.agents["scripted"].line == 4
    assert seed.state == {"tone": "brief", "orders": {"A-1": "shipped"}, "list": ["yes", "1_000"]}
    assert seed.suggestions == ("Is it shipped?", "Twice?")
    assert seed.messages == (
        NewMessage("user", "Where is A-1?"),
        NewMessage(
            "assistant",
            "",
            (
                tool_call_part("c1", "look-up-order", {"order": "A-1"}),
                tool_call_part("c2", "calculate", {"expression": "1", "digits": 2}),
                tool_call_part("c9", "odd", "no object"),
            ),
        ),
        NewMessage("tool", '{"status":"shipped","when":"12:30:00"}', (tool_result_part("c1", "look-up-order"),)),
        NewMessage("tool", "2", (tool_result_part("c2", "calculate"),)),
        NewMessage("tool", "it broke", (tool_result_part("c9", "odd", error=True),)),
        NewMessage("system", "Be kind.", flags=("summary",)),
        NewMessage("user", "yes", ({"type": "image", "size": 3},)),
    )


def test_a_script_is_read_whole(folder: Path) -> None:
    assert load_seed(write(folder, WHOLE)).script == (
        ScriptEntry(
            When(1, 1, 1, "shipped", "A-1", "x"), calls=(ToolCall("c1", "set-tone", {"tone": "detailed"}),), line=28
        ),
        ScriptEntry(texts=("one", "two"), chunks=5, delay=0.25, line=30),
        ScriptEntry(When(request="a"), fail="busy", status=503, retry_after=2.0, line=31),
        ScriptEntry(When(request="b"), empty=True, line=32),
        ScriptEntry(When(request="c"), text="half", cut=True, line=33),
        ScriptEntry(When(request="d"), text="long", truncate=True, line=34),
    )


def test_expectations_are_read_whole(folder: Path) -> None:
    assert load_seed(write(folder, WHOLE)).expect == (
        Expectation(
            "Is it shipped?",
            after=("Hello",),
            window=2,
            selected=2,
            context=Check(("A-1",), ("PIN",)),
            answer=Check(("shipped",), ("lost",), "^It", "It is shipped"),
            calls=("look-up-order",),
            status="failed",
            reason="model-error",
            smallest="all",
            same_answer=(2, "all"),
            line=36,
            column=5,
        ),
    )


def test_a_seed_needs_no_more_than_its_name(folder: Path) -> None:
    seed = load_seed(write(folder, "seed: bare\nstate:\nmessages:\n"))
    assert (seed.agent, seed.messages, seed.state, seed.expect) == ("", (), {}, ())


def test_C76_scalars_in_messages_stay_text(folder: Path) -> None:
    values = ["yes", "12:30:00", "2024-01-01", "1_000", "", "null", "True", "0x10"]
    seed = load_seed(write(folder, "seed: s\nmessages:\n" + "".join(f"  - user: {value}\n" for value in values)))
    assert [row.text for row in seed.messages] == values


def test_C70_a_seed_with_a_byte_order_mark(folder: Path) -> None:
    path = folder / "bom.yaml"
    path.write_bytes(b"\xef\xbb\xbfseed: s\nmessages:\n  - user: hello\n")
    assert load_seed(path).messages == (NewMessage("user", "hello"),)


@pytest.mark.parametrize(
    ("text", "line", "field", "problem"),
    [
        ("mesages: []", 2, "mesages", "did you mean messages?"),
        ("messages: hello", 2, "messages", "should be a list, not a text"),
        ("messages: [hello]", 2, "messages[1]", "should be a table"),
        ("messages:\n  - human: x", 3, "messages[1]", "a message has one of user, assistant, tool, system"),
        ("messages:\n  - {user: x, assistant: y}", 3, "messages[1]", "as its key, not 2"),
        ("messages:\n  - user: [x]", 3, "messages[1].user", "should be a text, not a list"),
        ("messages:\n  - user: x\n    calls: []", 4, "messages[1].calls", "is not known here"),
        ("messages:\n  - tool: x\n    call: c1", 4, "messages[1].call", "no message before makes a call 'c1'"),
        ("messages:\n  - assistant: x\n    calls: [{id: a, name: f}]\n  - tool: y\n    call: b", 6,
         "messages[2].call", "open are a"),
        ("messages:\n  - assistant: x\n    calls: [{id: a, name: f}, {id: a, name: g}]", 4,
         "messages[1].calls[2].id", "call a is still open"),
        ("messages:\n  - assistant: x\n    calls: [{id: a}]", 4, "messages[1].calls[1].name", "is missing"),
        ("messages:\n  - assistant: x\n    calls: [{name: f, arguments: [1]}]", 4, "messages[1].calls[1].arguments",
         "should be a table, or JSON in quotes"),
        ("messages:\n  - user: x\n    parts: no", 4, "messages[1].parts", "should be a list of objects"),
        ("messages:\n  - tool: x\n    error: maybe", 4, "messages[1].error", "should be true or false"),
        ("state: [a]", 2, "state", "should be a table, or a JSON object in quotes"),
        ("state: '{\"a\": NaN}'", 2, "state", "should be a table, or a JSON object in quotes"),
        ("agent: nobody", 2, "agent", "there is no agent nobody"),
        ("agent: ../evil", 2, "agent", "is no name"),
        ("agent: {agent: x, historyWindow: '3'}", 2, "agent.historyWindow", "a window is a whole number or all"),
        ("agent: {agent: x, delegates: [x]}", 2, "delegates", "delegates go in a circle: x -> x"),
        ("try: [[a]]", 2, "try[1]", "should be a text"),
        ("script: [{}]", 2, "script[1]", "does nothing"),
        ("script: [{text: a, texts: [b]}]", 2, "script[1].texts", "give only one of them"),
        ("script: [{text: a, empty: true}]", 2, "script[1].empty", "says nothing"),
        ("script: [{text: a, status: 503}]", 2, "script[1].status", "belongs to a failure"),
        ("script: [{fail: a, status: 200}]", 2, "script[1].status", "the HTTP status of a failure"),
        ("script: [{text: a, when: {turns: 1}}]", 2, "script[1].when.turns", "did you mean turn?"),
        ("script: [{text: a, chunks: 0}]", 2, "script[1].chunks", "of 1 or more"),
        ("expect: [{window: 2}]", 2, "expect[1].request", "is missing"),
        ("expect: [{request: a, window: '2'}]", 2, "expect[1].window", "a window is a whole number or all"),
        ("expect: [{request: a, context: {contain: b}}]", 2, "expect[1].context.contain", "did you mean contains?"),
        ("expect: [{request: a, answer: {matches: '('}}]", 2, "expect[1].answer.matches", "no regular expression"),
        ("expect: [{request: a, status: done}]", 2, "expect[1].status", "should be one of completed, failed"),
        ("expect: [{request: a, reason: steps}]", 2, "expect[1].reason", "say so with status"),
        ("expect: [{request: a, sameAnswer: [2]}]", 2, "expect[1].sameAnswer", "compares at least two windows"),
    ],
)  # fmt: skip
def test_Q1_an_error_names_file_line_and_field(folder: Path, text: str, line: int, field: str, problem: str) -> None:
    path = write(folder, f"seed: s\n{text}\n")
    with pytest.raises(BadInput) as raised:
        load_seed(path)
    error = raised.value
    assert (error.file, error.line, error.field) == (str(path), line, field)
    assert problem in error.problem
    assert error.problem in [found.message for found in check_file(path)]


def test_Q1_an_error_in_a_seeds_agent_names_the_agents_file(folder: Path) -> None:
    agent = write(folder, "agent: mine\nhistoryWindow: six\n", "mine.yaml")
    path = write(folder, "seed: s\nagent: mine\n")
    with pytest.raises(BadInput, match=r"mine\.yaml:2: historyWindow: a window is"):
        load_seed(path)
    assert [(found.file, found.line, found.code) for found in check_file(path)] == [(str(agent), 2, "S108")]


def test_a_seed_named_like_its_agent_is_not_taken_for_it(folder: Path) -> None:
    seed = load_seed(write(folder, "seed: notes\nagent: notes\n", "notes.yaml"))
    assert seed.agents["notes"].shipped


def test_an_agent_known_by_name_needs_no_file(folder: Path) -> None:
    seed = load_seed(write(folder, "seed: s\nagent: mine\n"), known=("mine",))
    assert (seed.agent, seed.agents) == ("mine", {})


def test_check_says_what_loads_but_is_hardly_meant(folder: Path) -> None:
    text = (
        "seed: s\nagent: {agent: a, tools: [set-tome]}\nmessages:\n"
        "  - assistant: x\n    calls: [{id: c1, name: f}]\n  - user: y\n"
        "script:\n  - text: a\n  - text: b\n"
    )
    path = write(folder, text)
    load_seed(path)
    assert [(found.line, found.code, found.severity) for found in check_file(path)] == [
        (2, "S108", "error"),
        (4, "S110", "warning"),
        (8, "S111", "info"),
        (9, "S111", "warning"),
    ]


def test_check_lists_every_problem_and_knows_agent_files(folder: Path) -> None:
    path = write(folder, "seed: s\nabuot: x\nmessages:\n  - human: a\n  - user: [b]\n")
    assert [(found.line, found.column, found.code) for found in check_file(path)] == [
        (2, 1, "S101"),
        (4, 5, "S103"),
        (5, 11, "S102"),
    ]
    assert [found.code for found in check_file(write(folder, "agent: a\nwindow: 3\n"))] == ["S101"]
    assert [found.code for found in check_file(folder / "none.yaml")] == ["S100"]


def test_a_call_id_may_come_again_once_it_was_answered(folder: Path) -> None:
    turn = "  - assistant:\n    calls: [{id: c1, name: f}]\n  - tool: x\n    call: c1\n"
    assert len(load_seed(write(folder, f"seed: s\nmessages:\n{turn}{turn}")).messages) == 4


def test_a_seed_is_found_by_shipped_name_or_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_seed("friday-notes").shipped
    write(folder, "seed: mine\n", "mine.yaml")
    monkeypatch.chdir(folder)
    assert find_seed("mine.yaml").name == "mine"
    assert Path(find_seed("mine.yaml").file).is_absolute()
    with pytest.raises(BadInput, match="did you mean friday-notes"):
        find_seed("friday_notes")
    for nothing in ("nul\x00", "x" * 5000, "", "no/such.yaml"):
        with pytest.raises(BadInput):
            find_seed(nothing)


def test_a_piped_seed_finds_its_agents_in_the_folder_given(folder: Path) -> None:
    seed = parse_seed("seed: s\nagent: helper\n", folder=folder)
    assert (sorted(seed.agents), seed.file) == (["helper"], "")
    with pytest.raises(BadInput, match=r"^-:2: nope"):
        parse_seed("seed: s\nnope: x\n")


def test_one_shipped_seed_is_read_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    open_ = Path.open

    def noting(self: Path, *args: object, **kwargs: object) -> object:
        read.append(self.stem)
        return open_(self, *args, **kwargs)  # type: ignore[call-overload]  # passed on as it came

    monkeypatch.setattr(Path, "open", noting)
    find_seed("asked-twice")
    assert "asked-twice" in read
    assert not set(read) & (set(shipped_seed_names()) - {"asked-twice"})


def test_the_schemas_name_every_key() -> None:
    pydantic_free = seed_schema()
    definitions = pydantic_free["$defs"]
    assert isinstance(definitions, dict)
    assert set(definitions) == {"agent", "message", "call", "entry", "expectation"}
    properties = agent_schema()["properties"]
    assert isinstance(properties, dict)
    assert properties["historyWindow"]["oneOf"] == [{"type": "integer"}, {"const": "all"}]


LINES = WHOLE.split("\n")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """The whole seed with a few lines lost, doubled, indented or changed in one character."""
    lines = list(LINES)
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0, len(lines) - 1))
        how = draw(st.sampled_from(["drop", "double", "indent", "outdent", "change", "cut"]))
        at = draw(st.integers(0, len(lines[n])))
        if how == "drop":
            del lines[n]
            lines = lines or [""]
        elif how == "double":
            lines.insert(n, lines[n])
        elif how == "indent":
            lines[n] = "  " + lines[n]
        elif how == "outdent":
            lines[n] = lines[n][2:]
        elif how == "cut":
            lines[n] = lines[n][:at]
        else:
            sign = draw(st.sampled_from(list("[]{}:,'\"-&*!|>#%@` \t\\0aé\u2028\x00\x1b")))
            lines[n] = lines[n][:at] + sign + lines[n][at + 1 :]
    return "\n".join(lines)


@pytest.mark.fuzz
@given(mutated())
def test_Q1_a_damaged_seed_loads_or_gives_one_error(text: str) -> None:
    error = error_of(text)
    assert error is None or (error.file and "\n" not in str(error))


def error_of(text: str) -> BadInput | None:
    try:
        parse_seed(text, folder=Path(__file__).parent)
    except BadInput as error:
        return error
    return None
