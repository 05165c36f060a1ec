"""Peer of the LangChain benchmark, in an environment of its own: one call of a stdio server by
langchain-mcp-adapters for every line read. Its arguments are the server's command and first argument, and the
arguments of the call as JSON."""

import asyncio
import json
import sys

from langchain_mcp_adapters.client import MultiServerMCPClient  # pyright: ignore[reportMissingImports]


def main(command: str, script: str, arguments: str) -> None:
    called = {"type": "tool_call", "id": "1", "name": "echo", "args": json.loads(arguments)}
    client = MultiServerMCPClient({"echo": {"transport": "stdio", "command": command, "args": [script]}})
    with asyncio.Runner() as runner:
        (tool,) = runner.run(client.get_tools())
        for _ in sys.stdin:
            content = runner.run(tool.ainvoke(called)).content
            print(content if isinstance(content, str) else content[0]["text"], flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
