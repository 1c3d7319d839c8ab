"""Real agents of three frameworks through the recorder, each in an environment of its own; skipped where there is none.

To run them: make an environment for each, install `openai-agents`, `pydantic-ai-slim[openai]`, or `langgraph` with
`langchain-openai`, and name its Python in TRY_OPENAI_AGENTS, TRY_PYDANTIC_AI or TRY_LANGGRAPH.
"""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest

from runtime.recorder.words import program_words, sent_words
from runtime.values.items import AssistantStep, ToolResults
from tests.models.dialects import chunk, fragment
from tests.models.server import Answer, ModelServer, plain, streamed
from tests.recorder.test_proxy import KEY, recording

PROGRAMS = Path(__file__).parent / "programs"
FRAMEWORKS = {"openai_agents": "agents", "pydantic_ai": "pydantic_ai", "langgraph": "langgraph"}
PEOPLE = ("Ada", "Grace")
HEAD: dict[str, Any] = {"id": "x", "object": "chat.completion", "created": 1, "model": "small"}


def python_with(name: str) -> str:
    """The Python that has the framework; skips the test if none is named."""
    variable = f"TRY_{name.upper()}"
    found = os.environ.get(variable, "")
    if not found:
        pytest.skip(f"{name} is tried in an environment of its own: name its Python in {variable}")
    return found


def answers(stream: bool) -> list[Answer]:
    """For each request a call, then an answer."""
    found = []
    for n, person in enumerate(PEOPLE, 1):
        arguments = json.dumps({"person": person})
        call = {"id": f"call_{n}", "type": "function", "function": {"name": "find_room", "arguments": arguments}}
        said = f"{person} is in room {len(person)}."
        found.append(_streamed(None, n, arguments) if stream else _whole(None, [call]))
        found.append(_streamed(said, n, "") if stream else _whole(said, None))
    return found


def _whole(text: str | None, calls: list[Any] | None) -> Answer:
    message = {"role": "assistant", "content": text, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    usage = {"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25}
    return plain(200, {**HEAD, "choices": [choice], "usage": usage})


def _streamed(text: str | None, n: int, arguments: str) -> Answer:
    head = {**HEAD, "object": "chat.completion.chunk"}
    if text is None:
        first = fragment(0, f"call_{n}", "find_room", "", type="function")
        deltas: list[Any] = [{"role": "assistant", "tool_calls": [first]}]
        deltas += [{"tool_calls": [fragment(0, arguments=piece)]} for piece in (arguments[:5], arguments[5:])]
    else:
        deltas = [{"role": "assistant", "content": piece} for piece in (text[:4], text[4:])]
    pieces = [chunk(delta, **head) for delta in deltas]
    end = chunk({}, "stop" if text else "tool_calls", **head) + b"data: [DONE]\n\n"
    return streamed(*pieces, end)


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("name", FRAMEWORKS)
async def test_a_real_agent_reads_as_its_program_meant_it(
    name: str, stream: bool, model_server: ModelServer, tmp_path: Path
) -> None:
    python = python_with(name)
    model_server.will(*answers(stream))
    async with recording(model_server.url, tmp_path / "s.db") as desk:
        home = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        told = {"OPENAI_BASE_URL": f"{desk.url}/v1", "OPENAI_API_KEY": KEY, "NO_PROXY": "*"}
        running = await asyncio.create_subprocess_exec(
            python,
            str(PROGRAMS / f"with_{name}.py"),
            *(["stream"] if stream else []),
            env={**home, **told},
            cwd=tmp_path,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, errors = await asyncio.wait_for(running.communicate(), 120)
        assert running.returncode == 0, errors.decode()
        records = await desk.records()
    assert out.decode().split("\n")[:2] == ["Ada is in room 3.", "Grace is in room 5."]
    assert [(record.request, record.status, record.answer) for record in records] == [
        ("Where is Ada?", "completed", "Ada is in room 3."),
        ("And where is Grace?", "completed", "Grace is in room 5."),
    ]
    assert len({record.thread for record in records}) == 1
    for record, person in zip(records, PEOPLE, strict=True):
        step, results, _ = record.transcript
        assert isinstance(step, AssistantStep)
        assert isinstance(results, ToolResults)
        assert [(call.name, call.arguments) for call in step.calls] == [("find_room", {"person": person})]
        assert [result.output for result in results.results] == [f"{person} works in room {len(person)}"]
        assert all(one.body is not None for one in record.steps)
    context = records[1].context
    assert context is not None
    instructions = context.section("instructions")
    assert instructions is not None
    assert instructions.text == "You are the porter."
    assert [tool.name for tool in context.tools] == ["find_room"]
    assert sent_words(context) == "recorded: your program sent 5 of 5 messages"
    assert program_words(context) == ()
