"""The client that the official suite judges: links to the server it is given, lists its tools and calls each once.

The suite starts it with the URL as the last argument. What a scenario wants beyond that is in its context.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from bascule import Runtime
from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.core.tool import ToolSpec

SAMPLES: Mapping[str, Any] = {"string": "x", "integer": 5, "number": 3, "boolean": True, "object": {}, "array": []}


def arguments_for(tool: ToolSpec) -> dict[str, Any]:
    """The fewest arguments that the tool accepts."""
    properties, required = tool.input_schema.get("properties", {}), tool.input_schema.get("required", ())
    return {name: SAMPLES.get(properties.get(name, {}).get("type"), "x") for name in required}


def calls_for(tools: tuple[ToolSpec, ...], context: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What is called with what: as the scenario wants it, else every tool once."""
    if "toolCalls" in context:
        # A null stands for an argument that is not given.
        return [(c["name"], {k: v for k, v in c["arguments"].items() if v is not None}) for c in context["toolCalls"]]
    schemas = {tool.key.tool: tool.input_schema for tool in tools}
    echoed = {"json_schema_echo": {"schema": schemas.get("json_schema_2020_12_tool")}}
    return [(tool.key.tool, echoed.get(tool.key.tool) or arguments_for(tool)) for tool in tools]


async def main(url: str, context: Mapping[str, Any]) -> None:
    server = ServerConfig(name="suite", transport=StreamableHttpTransport(url=url), prefix="")
    async with Runtime.from_servers({"suite": server}) as runtime:
        session = runtime.session("conformance", "1")
        for name, arguments in calls_for(await session.tools(), context):
            print(name, await session.call(name, arguments), file=sys.stderr)
        for report in session.servers():
            print(report, file=sys.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        os.environ["BASCULE_HOME"] = home
        asyncio.run(main(sys.argv[-1], json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")))
