"""What the Studio and the runtime make of recorded turns: said in CONTEXT and on the window bar, run again."""

from __future__ import annotations

from runtime.explain import ledger, why
from runtime.explain.accounts import LeftOutRows
from runtime.threads import Runtime
from studio_tui.cli.turn_text import turn_text
from studio_tui.views.context import context_pane
from tests.recorder.conftest import Program


async def trimmed(program: Program) -> None:
    """Three turns; before the third the program drops its first two messages, and its instructions change."""
    program.tools = [{"type": "function", "function": {"name": "look", "description": "Look.", "parameters": {}}}]
    program.system = "Be brief."
    for number, request in enumerate(("The key is in the blue box.", "And the lamp?", "Where is the key?"), 1):
        if number == 3:
            program.messages = program.messages[2:]
            program.system = "Be exact."
        program.says(request)
        await program.call(number, f"answer {number}")


async def test_X1_what_the_program_dropped_is_accounted_for(program: Program) -> None:
    await trimmed(program)
    record = (await program.records())[2]
    accounts = ledger(record, earlier=await program.records())
    gone = [one for one in accounts if isinstance(one, LeftOutRows) and one.reason == "dropped-by-client"]
    assert [(one.first, one.last, one.needs_first) for one in gone] == [(1, 2, None)]
    found = why(record, accounts, 1)
    assert found.reason == "dropped-by-client"
    assert "the recorded program did not send it" in found.sentence


async def test_X3_the_studio_says_what_was_sent(program: Program) -> None:
    await trimmed(program)
    record = (await program.records())[2]
    text = turn_text(record)
    assert "recorded: your program sent 3 of 5 messages" in text
    assert "your program left out 2 messages: seq 1-2" in text
    pane = "\n".join("".join(span.text for span in line.spans) for line in context_pane(record).lines)
    assert "recorded: your program sent 3 of 5 messages" in pane
    assert "! your program left out 2 messages: seq 1-2" in pane


async def test_X4_a_recorded_turn_is_run_again_with_what_its_own_call_sent(program: Program) -> None:
    await trimmed(program)
    runtime = Runtime(program.store)
    thread = (await program.threads())[0].id
    third = (await program.records())[2]
    again = await runtime.rerun(third.turn, tools="recorded")
    assert again.status == "completed"
    assert again.context is not None
    instructions = again.context.section("instructions")
    assert instructions is not None
    assert instructions.text == "Be exact."
    assert [row.seq for row in again.context.rows] == [1, 2, 3, 4, 5]
    assert "blue box" in (again.answer or "")
    assert [tool.name for tool in again.context.tools] == ["look"]
    assert len(await program.rows()) == 6
    agent = await runtime.agent_of(thread)
    assert (agent.name, agent.instructions, agent.window) == ("recorded", "Be brief.", "all")


async def test_a_fork_of_a_recorded_thread_is_answered_as_it_is(program: Program) -> None:
    await trimmed(program)
    runtime = Runtime(program.store)
    fork = await runtime.fork((await program.threads())[0].id, 4)
    assert (await runtime.agent_of(fork)).name == "recorded"
    record = await runtime.send(fork, "Where is the key?")
    assert "blue box" in (record.answer or "")
