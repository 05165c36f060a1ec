"""An agent of the OpenAI Agents SDK with governed tools, on the SDK's own scripted model. Run it in this folder."""

import asyncio

from agents import Agent, ItemHelpers, RunConfig, Runner
from agents.items import MessageOutputItem, ToolCallOutputItem
from agents.testing import ScriptedModel, assistant_message, function_call
from bascule import Runtime
from bascule.bridges.openai_agents import mcp_server

# Says what it was made with. A real model takes its place.
MODEL = ScriptedModel(
    [
        [function_call("notes_add", {"text": 7}, call_id="1")],
        [function_call("notes_add", {"text": "The bridge is down."}, call_id="2")],
        [assistant_message("It is written down.")],
    ]
)


async def main() -> None:
    async with Runtime.from_file("bascule.yaml") as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        agent = Agent("Scribe", model=MODEL, mcp_servers=[mcp_server(session)])
        config = RunConfig(tracing_disabled=True)  # tracing would send what is said to OpenAI
        ran = await Runner.run(agent, "Write down that the bridge is down.", run_config=config)
        for item in ran.new_items:
            if isinstance(item, ToolCallOutputItem):
                print(f"tool: {item.output['text']}")
            elif isinstance(item, MessageOutputItem):
                print(f"agent: {ItemHelpers.text_message_output(item)}")


asyncio.run(main())
