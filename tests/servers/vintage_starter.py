"""A client on an old release of the official SDK, which starts a gateway and uses it. It runs in that release's own
environment, never in ours: hence what it imports is found by name. Prints what it got as JSON."""

import asyncio
import json
import os
import sys
from importlib import import_module
from typing import Any

mcp: Any = import_module("mcp")
stdio: Any = import_module("mcp.client.stdio")


async def main(command: str, *args: str) -> None:
    started = mcp.StdioServerParameters(command=command, args=[*args], env=dict(os.environ))
    async with stdio.stdio_client(started) as (reading, writing), mcp.ClientSession(reading, writing) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        called = await session.call_tool("work_act", {"n": 1})
        wrong = await session.call_tool("work_act", {"result": {"content": [], "isError": True}})
        await session.send_ping()
        print(json.dumps({"tools": tools, "text": called.content[0].text, "wrong": wrong.isError}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
