"""Two turns with a tool call each in LangGraph; the base URL comes from the environment."""

# mypy: ignore-errors
# ruff: noqa: T201
# What it imports is not installed where our types are checked; what it prints is read by the test.

from __future__ import annotations

import sys

from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition


@tool
def find_room(person: str) -> str:
    """Find the room in which a person works."""
    return f"{person} works in room {len(person)}"


model = ChatOpenAI(model="small", streaming="stream" in sys.argv).bind_tools([find_room])


def porter(state: MessagesState) -> dict[str, list[object]]:
    return {"messages": [model.invoke([SystemMessage("You are the porter."), *state["messages"]])]}


graph = StateGraph(MessagesState)
graph.add_node("porter", porter)
graph.add_node("tools", ToolNode([find_room]))
graph.add_edge(START, "porter")
graph.add_conditional_edges("porter", tools_condition)
graph.add_edge("tools", "porter")
agent = graph.compile(checkpointer=InMemorySaver())
for request in ("Where is Ada?", "And where is Grace?"):
    state = agent.invoke({"messages": [("user", request)]}, {"configurable": {"thread_id": "one"}})
    print(state["messages"][-1].content)
