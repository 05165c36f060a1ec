"""An agent of the Claude Agent SDK with governed tools. Run it in this folder, logged in to Claude."""

import asyncio

from bascule import Runtime
from bascule.bridges.claude_sdk import options, watched
from claude_agent_sdk import ResultMessage, ToolResultBlock, UserMessage, query


async def main() -> None:
    async with Runtime.from_file("bascule.yaml") as runtime:
        session = runtime.session(user_id="ada", session_id="s-1")
        made = options(session)
        prompt = "Write down that the bridge is down."
        async for message in watched(query(prompt=prompt, options=made), made):
            if isinstance(message, UserMessage):
                results = [block for block in message.content if isinstance(block, ToolResultBlock)]
                print(*("failed" if result.is_error else "went well" for result in results))
            elif isinstance(message, ResultMessage):
                print(message.result)


asyncio.run(main())
