"""F1, F2: the estimate against a real vocabulary (o200k) on texts of many kinds, its parts, and what it costs."""

from __future__ import annotations

import asyncio
import base64
import importlib
import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime import fit
from runtime.values.items import AssistantStep, Nudge, ToolCall, ToolResult, ToolResults
from runtime.values.record import PARTS
from runtime.values.request import ToolSpec

SAMPLES = Path(__file__).parent / "fit_samples"
WRITTEN = ("english", "code", "json", "log", "chinese", "japanese", "korean", "arabic", "russian", "emoji")
DRAWN = ("digits", "base64", "hex")


@pytest.fixture(scope="module")
def o200k() -> Callable[[str], int]:
    vocabulary = importlib.import_module("rs_bpe.bpe").openai.o200k_base()
    return lambda text: len(vocabulary.encode(text))


def texts(kind: str) -> list[str]:
    """The texts of a kind: written ones from files, the rest drawn with a fixed seed."""
    if kind in WRITTEN:
        return [path.read_text("utf-8") for path in sorted(SAMPLES.glob(f"{kind}-*.txt"))]
    draw = random.Random(7)
    if kind == "digits":
        return [
            " ".join(str(draw.randrange(10 ** draw.randrange(1, 14))) for _ in range(200)),
            "\n".join(
                ",".join(f"{draw.uniform(-900, 9000):.{draw.randrange(1, 6)}f}" for _ in range(6)) for _ in range(40)
            ),
            "".join(str(draw.randrange(10)) for _ in range(1500)),
        ]
    if kind == "hex":
        return [
            draw.randbytes(1000).hex(),
            draw.randbytes(1000).hex().upper(),
            "\n".join(f"{draw.randbytes(20).hex()}  part-{n:03}.bin" for n in range(25)),
        ]
    return [
        base64.b64encode(draw.randbytes(1500)).decode(),
        "data:image/png;base64," + base64.b64encode(draw.randbytes(900)).decode(),
        base64.encodebytes(draw.randbytes(1200)).decode(),
        base64.b64encode((SAMPLES / "english-letter.txt").read_bytes()).decode(),
    ]


@pytest.mark.parametrize("kind", WRITTEN + DRAWN)
def test_F2_estimate_is_within_ten_percent_on_average_and_never_fifteen_under(
    kind: str, o200k: Callable[[str], int]
) -> None:
    ratios = [fit.count(text) / o200k(text) for text in texts(kind)]
    assert len(ratios) > 1
    assert 0.9 <= sum(ratios) / len(ratios) <= 1.1
    assert min(ratios) >= 0.85


def test_F2_estimate_is_right_on_the_whole_of_a_mixed_text(o200k: Callable[[str], int]) -> None:
    mixed = "\n\n".join(text for kind in WRITTEN + DRAWN for text in texts(kind))
    assert 0.93 <= fit.count(mixed) / o200k(mixed) <= 1.07


@pytest.mark.parametrize(
    "text",
    [
        "".join(random.Random(1).choices("abcdefghijklmnopqrstuvwxyz", k=1_000_000)),
        "a" * 1_000_000,
        "\n" * 100_000,
        " " * 100_000,
        "\t" * 100_000,
        random.Random(2).randbytes(250_000).hex(),
        (" " * 4_000 + "x") * 50,
        " \n" * 50_000,
        "-" * 100_000,
        "=" * 99_999 + ">",
    ],
    ids=["letters", "one-letter", "newlines", "blanks", "tabs", "hex", "gaps", "blank-lines", "rule", "arrow"],
)
def test_F2_degenerate_texts_are_not_underestimated(text: str, o200k: Callable[[str], int]) -> None:
    assert fit.count(text) >= 0.85 * o200k(text)


def test_F2_nothing_costs_nothing() -> None:
    assert fit.count("") == 0


def test_F2_other_languages_are_not_far_off(o200k: Callable[[str], int]) -> None:
    hebrew = "בשבוע שעבר נסענו לים עם הילדים והסבתא. בדרך עצרנו ליד פרדס ישן וקנינו ארגז תפוזים מאיש זקן."
    polish = "Wczoraj wieczorem padał deszcz, więc zostaliśmy w domu i graliśmy w szachy przy świetle świecy."
    hindi = "कल शाम को बारिश हो रही थी, इसलिए हम घर पर रहे और दादी ने हमें पुरानी कहानियाँ सुनाईं।"
    for text in (hebrew, polish, hindi):
        assert 0.85 <= fit.count(text) / o200k(text) <= 1.25


def test_F2_a_counted_row_is_not_counted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [f"row {n}: " + "some words that were said before. " * 40 for n in range(20)]
    once = [fit.row_tokens("user", row) for row in rows]
    monkeypatch.delattr(fit, "price")
    assert [fit.row_tokens("user", row) for row in rows] == once


async def test_F2_large_texts_leave_the_loop_and_count_the_same() -> None:
    large = (SAMPLES / "english-letter.txt").read_text("utf-8") * 100
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticker = asyncio.create_task(tick())
    counted = await fit.count_large(large)
    ticker.cancel()
    assert counted == fit.count(large)
    assert ticks > 1
    assert await fit.count_large("short") == fit.count("short")


def test_F1_parts_add_up_to_the_estimate() -> None:
    parts = fit.parts({"instructions": 10, "history": 20, "request": 3}, tools=40, transcript=5, attachments=1_100)
    assert tuple(parts) == PARTS
    assert parts["request"] == 1_103
    assert parts["state"] == 0
    assert sum(parts.values()) == 10 + 20 + 3 + 40 + 5 + 1_100 + fit.REQUEST_OVERHEAD


def test_F1_every_item_of_the_transcript_counts_but_the_empty_step() -> None:
    call = ToolCall("c1", "find-notes", {"about": "draft"})
    step = AssistantStep(1, "Looking.", (call,))
    results = ToolResults(1, (ToolResult("c1", "find-notes", {"found": ["the draft is on the blue drive"]}),))
    assert fit.item_tokens(step) > fit.count("Looking.") + fit.count(call.arguments_text())
    assert fit.item_tokens(results) > 8
    assert fit.item_tokens(AssistantStep(2, " ")) == 0
    assert fit.item_tokens(Nudge(2, "Please answer.")) > 3
    assert fit.transcript_tokens([step, results]) == fit.item_tokens(step) + fit.item_tokens(results)


def test_C66_chinese_prose_overflows_where_a_quarter_of_the_characters_would_pass() -> None:
    chinese = "".join(texts("chinese"))
    prose = (chinese * 5)[:4_000]
    english = ("".join(texts("english")) * 2)[:4_000]
    assert len(prose) == len(english) == 4_000
    assert _estimate(prose) + 256 > 2_000
    assert len(prose) / 4 + 256 < 2_000
    assert _estimate(english) + 256 <= 2_000


def test_C67_twenty_large_tools_overflow_with_a_short_request() -> None:
    def tool(n: int) -> ToolSpec:
        fields = {
            f"field_{n}_{k}": {"type": "string", "description": f"what the caller knows of {k}"} for k in range(40)
        }
        while len(json.dumps(fields)) > 1_950:
            fields.popitem()
        return ToolSpec(f"tool_{n}", "Does one thing.", {"type": "object", "properties": fields})

    tools = sum(fit.tool_tokens(tool(n)) for n in range(20))
    assert sum(fit.parts({"request": fit.count("hi")}, tools=tools).values()) > 8_000


def test_C68_an_image_is_flat_and_the_same_as_text_is_not() -> None:
    data = base64.b64encode(random.Random(3).randbytes(3_000_000)).decode()
    assert len(data) == 4_000_000
    image = fit.parts({"request": 3}, attachments=fit.IMAGE_TOKENS)
    assert sum(image.values()) < 128_000
    as_text = fit.result_tokens(ToolResult("c1", "read-file", data))
    assert as_text > 128_000


def _estimate(request: str) -> int:
    return sum(fit.parts({"request": fit.count(request)}).values())
