"""The body of a step on its screen: read, and copied as a curl command."""

from __future__ import annotations

import shlex
from collections.abc import AsyncIterator
from typing import Any

from runtime.events import Ended, ModelEvent, Sent, TextDelta, UsageReported
from runtime.values.request import Request
from runtime.values.usage import Usage
from studio_tui.screens.reader import WireBody


class Wired:
    """A model that says where it sent its request."""

    def __init__(self, name: str, url: str) -> None:
        self.name, self.url = name, url

    async def stream(self, request: Request) -> AsyncIterator[ModelEvent]:
        yield Sent(b'{"model":"small","messages":[{"role":"user","content":"it\'s"}],"stream":true}', self.url)
        yield TextDelta("Yes.")
        yield UsageReported(Usage(40, 2))
        yield Ended("stop")


async def copied(at: Any) -> str:
    """What `u` on the screen of the last step's body copies."""
    await at.press("escape", "w")
    await at.wait(lambda: isinstance(at.app.screen, WireBody), "the body")
    await at.press("u")
    await at.pilot.pause()
    return str(at.app.clipboard)


async def test_a_step_is_copied_as_a_curl_command(studio: Any) -> None:
    url = "https://api.example/v1/chat/completions"
    async with studio(models={"openai:small": Wired("openai:small", url)}, requests=["Is it?"]) as at:
        command = await copied(at)
        await at.see("the curl command")
    words = shlex.split(command)
    assert words[:3] == ["curl", "-N", url]
    assert "authorization: Bearer $OPENAI_API_KEY" in words
    assert '"it\'s"' in words[-1]


async def test_a_step_without_a_wire_says_why_it_is_no_command(studio: Any) -> None:
    async with studio(requests=["Is it?"]) as at:
        assert await copied(at) == ""
        await at.see("did not go over a wire")


async def test_F2_the_turn_list_says_how_far_the_estimate_was_off(studio: Any) -> None:
    async with studio(models={"openai:small": Wired("openai:small", "http://h/x")}, requests=["Is it?"]) as at:
        await at.see("% over")
