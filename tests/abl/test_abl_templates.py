"""Braces in texts: values, blocks, filters; what has no value is empty, and no value is a template."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.abl.assignments import assign, read_assignment
from runtime.abl.templates import LONGEST, NotATemplate, names, read_template, render
from runtime.values.json import Json

VALUES: dict[str, Json] = {
    "order_id": "ORD-1",
    "order": {"total": 12.0, "lines": [{"sku": "A"}, {"sku": "B"}]},
    "vip": True,
    "none": None,
    "xs": ["a", "b"],
    "at": "2026-01-05T09:00:00+00:00",
}


@pytest.mark.parametrize(
    ("source", "rendered"),
    [
        ("Order {{order_id}} is here.", "Order ORD-1 is here."),
        ("{{ order_id }}{{order_id}}", "ORD-1ORD-1"),
        ("{{missing}}|{{order.missing}}|{{none}}", "||"),
        ("{{order.total}} {{order.lines[1].sku}} {{vip}}", "12 B true"),
        ("{{xs}}", '["a","b"]'),
        ("{{#if vip}}yes{{/if}}{{#if missing}}no{{/if}}", "yes"),
        ("{{#if missing}}a{{else}}b{{/if}}", "b"),
        ('{{#if order_id == "ORD-1" AND vip}}same{{/if}}', "same"),
        ("{{#each order.lines}}{{this.sku}}{{index}};{{/each}}", "A0;B1;"),
        ("{{#each xs}}{{this}}{{#if index}}!{{/if}}{{/each}}", "ab!"),
        ("{{#each missing}}x{{else}}empty{{/each}}", "empty"),
        ("{{order_id | lower}} {{vip | upper}}", "ord-1 TRUE"),
        ("{{xs | json}} {{order.lines[0] | tojson}}", '["a","b"] {"sku":"A"}'),
        ("{{missing | upper}}{{order_id | shout}}", ""),
        ("{{at | ago}}", "3 hours ago"),
        ("{{UPPER(order_id)}}-{{LENGTH(xs)}}", "ORD-1-2"),
        ("{{not an expression}}", ""),
        ("{order_id} {{", "{order_id} {{"),
        ("{{}}", ""),
        ("no braces", "no braces"),
    ],
)
def test_template(source: str, rendered: str) -> None:
    assert render(source, VALUES, now=datetime(2026, 1, 5, 12, 30, tzinfo=UTC)) == rendered


def test_a_value_is_not_a_template() -> None:
    assert render("{{said}}", {"said": "{{secret}}", "secret": "4821"}) == "{{secret}}"


@pytest.mark.parametrize("source", ["{{#if a}}b", "{{/if}}", "{{#each a}}{{/if}}", "{{else}}", "{{#if a ==}}x{{/if}}"])
def test_blocks_that_do_not_close_are_refused(source: str) -> None:
    with pytest.raises(NotATemplate):
        read_template(source)
    assert "{{" not in render(source, VALUES)


def test_names_of_a_template() -> None:
    assert names("{{a}} {{#if b.c}}{{a}}{{d | upper}}{{/if}}") == ("a", "b.c", "d")


def test_rendering_is_bounded() -> None:
    many: Json = list(range(2000))
    source = "{{#each xs}}{{#each xs}}{{#each xs}}word{{/each}}{{/each}}{{/each}}"
    assert len(render(source, {"xs": many})) <= LONGEST
    with pytest.raises(NotATemplate):
        read_template("{{#if a}}" * 40 + "{{/if}}" * 40)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("x = order_id", "ORD-1"),
        ('x = "plain"', "plain"),
        ("x: plain", "plain"),
        ("x: two words", "two words"),
        ('x = "for {{order_id}}"', "for ORD-1"),
        ("x = true", True),
        ("x: 5", 5),
        ("x = order.total + 1", 13),
        ("x.y = none", None),
    ],
)
def test_assignment(written: str, value: Json) -> None:
    assignment = read_assignment(written, 1)
    assert assignment is not None
    assert assign([assignment], VALUES) == {written.split()[0].rstrip(":"): value}


def test_H9_an_assignment_without_a_value_is_left_out_and_later_ones_see_earlier_ones() -> None:
    lines = [read_assignment(text, 1) for text in ("a = missing", "b = 2", "c = b + 1")]
    assert assign([one for one in lines if one], {}) == {"b": 2, "c": 3}


@pytest.mark.parametrize("written", ["", "x", "x =", "= 5", "5 = x", "x == 5"])
def test_no_assignment(written: str) -> None:
    assert read_assignment(written, 1) is None


@pytest.mark.fuzz
@given(st.text(alphabet="{}#/ifeachls abx.|\"'[]0=\n", max_size=80))
def test_any_text_renders(source: str) -> None:
    assert isinstance(render(source, VALUES), str)
