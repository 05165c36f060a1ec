"""A LangChain agent with governed tools, on LangChain's own fake model. Run it in this folder."""

import asyncio
from typing import Any

from bascule import Runtime
from bascule.bridges.langchain import tools
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage


class Model(GenericFakeChatModel):
    """Says what it was made with. A real model takes its place."""

    def bind_tools(self, *_: Any, **__: Any) -> "Model":
        return self


SAID = (
    AIMessage("", tool_calls=[{"name": "notes_add", "args": {"text": 7}, "id": "1"}]),
    AIMessage("", tool_calls=[{"name": "notes_add", "args": {"text": "The bridge is down."}, "id": "2"}]),
    AIMessage("It is written down."),
)


async def main() -> None:
    async with Runtime.from_file("bascule.yaml") as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        agent = create_agent(Model(messages=iter(SAID)), await tools(session))
        state = await agent.ainvoke({"messages": [{"role": "user", "content": "Write down that the bridge is down."}]})
        for message in state["messages"]:
            print(f"{message.type}: {message.text}")


asyncio.run(main())
