"""A client on an old release of the official SDK: `URL TOKEN TOOL ARGUMENTS`. It runs in that release's own environment, never in
ours: hence what it imports is found by name."""

import asyncio
import json
import sys
from importlib import import_module
from typing import Any


async def main(url: str, token: str, tool: str, arguments: str) -> None:
    connect: Any = import_module("mcp.client.streamable_http").streamablehttp_client
    session: Any = import_module("mcp").ClientSession
    async with connect(url, headers={"Authorization": token}) as (read, write, _), session(read, write) as client:
        told = await client.initialize()
        tools = (await client.list_tools()).tools
        called = await client.call_tool(tool, json.loads(arguments))
        await client.send_ping()
    answer = {
        "version": told.protocolVersion,
        "tools": [each.name for each in tools],
        "text": called.content[0].text,
        "isError": called.isError,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
