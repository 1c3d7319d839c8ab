"""Reading a call's arguments as they came on the wire (T4, C44)."""

from __future__ import annotations

import pytest

from runtime.values.items import ToolCall


@pytest.mark.parametrize("text", [None, "", "  \n", "null"])
def test_C44_T4_absent_null_and_blank_arguments_are_an_empty_object(text: str | None) -> None:
    assert ToolCall.read("a", "calc", text).arguments == {}


@pytest.mark.parametrize(
    "text", ["[1]", "3", '"x"', "{", '{"x": NaN}', '{"x": -Infinity}', '{"x": 1e999}', '{"a":' * 700 + "1" + "}" * 700]
)
def test_T4_arguments_that_are_no_json_object_stay_as_received(text: str) -> None:
    assert ToolCall.read("a", "calc", text).arguments == text
