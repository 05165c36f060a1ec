"""A server of the official SDK that works in a client's folders: it asks for them when it is told to look, and again each
time it hears that they are others. It writes down what it hears."""

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError


class Rooted:
    """What it knows of its client's folders. Only the old era has a word for changes of them."""

    def __init__(self, log: Path) -> None:
        self._log = log
        with warnings.catch_warnings():
            # Roots are on their way out, and still there.
            warnings.simplefilter("ignore")
            self.server: Server[Any] = Server(  # pyright: ignore[reportDeprecated]
                "rooted", on_list_tools=self._tools, on_call_tool=self._call, on_roots_list_changed=self._changed
            )

    def _note(self, **what: Any) -> None:
        with self._log.open("a") as file:
            file.write(json.dumps(what) + "\n")

    async def _tools(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in ("look", "rest")]
        return types.ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private")

    async def _call(self, ctx: Any, params: Any) -> types.CallToolResult:
        self._note(call=params.name)
        if params.name == "look":
            await self._look(ctx)
        return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

    async def _changed(self, ctx: Any, _params: Any) -> None:
        self._note(changed=True)
        await self._look(ctx)

    async def _look(self, ctx: Any) -> None:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = await ctx.session.list_roots()
            self._note(roots=[str(root.uri) for root in found.roots])
        except MCPError as error:
            self._note(refused=error.error.code)

    async def run(self) -> None:
        async with stdio_server() as (read, write):
            await self.server.run(read, write, self.server.create_initialization_options())


if __name__ == "__main__":
    anyio.run(Rooted(Path(sys.argv[1])).run)
