"""A PydanticAI agent with governed tools, on PydanticAI's own fake model. Run it in this folder."""

import asyncio

from bascule import Runtime
from bascule.bridges.pydantic_ai import toolset
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

SAID = iter(
    (
        ToolCallPart("notes_add", {"text": 7}),
        ToolCallPart("notes_add", {"text": "The bridge is down."}),
        TextPart("It is written down."),
    )
)


def model(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Says what was thought out for it. A real model takes its place."""
    return ModelResponse([next(SAID)])


async def main() -> None:
    async with Runtime.from_file("bascule.yaml") as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        agent = Agent(FunctionModel(model), toolsets=[toolset(session)])
        run = await agent.run("Write down that the bridge is down.")
        for message in run.all_messages():
            for part in message.parts:
                if isinstance(part, ToolReturnPart):
                    print(f"{part.tool_name}, {part.outcome}: {part.content}")
        print(run.output)


asyncio.run(main())
