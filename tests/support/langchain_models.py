"""LangChain's own fake model, with calls to make, and agents that it drives."""

from collections.abc import Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from pydantic import Field

from support.bridge_matrix import Call

ASKED: Any = {"messages": [("user", "Do it.")]}


class Caller(GenericFakeChatModel):
    """Makes these calls, one after the other, then ends. It keeps the names of the tools that it was given, by turn."""

    given: list[list[str]] = Field(default_factory=list[list[str]])

    def bind_tools(self, tools: Sequence[Any], **_: Any) -> "Caller":
        self.given.append([tool.name for tool in tools])
        return self


def caller(*turns: Sequence[Call]) -> Caller:
    """One answer a turn, of as many calls as it says; ids count from 1."""
    count = iter(range(1, 100))
    said = [
        AIMessage("", tool_calls=[{"name": n, "args": dict(a), "id": str(next(count))} for n, a in turn])
        for turn in turns
    ]
    return Caller(messages=iter([*said, AIMessage("That is all.")]))


async def answers(model: Caller, tools: Sequence[BaseTool], **more: Any) -> list[ToolMessage]:
    """What a whole run of an agent shows its model of the calls it makes."""
    state = await create_agent(model, tools, **more).ainvoke(ASKED)
    return answers_in(state["messages"])


def answers_in(messages: Sequence[Any]) -> list[ToolMessage]:
    return [message for message in messages if isinstance(message, ToolMessage)]
