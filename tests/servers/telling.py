"""A server of the official SDK, of both eras, whose tools change what it lists and holds, and say so."""

import json
import os
import sys
import warnings
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import mcp_types as types
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)

EVENTS = {"tools": ToolsListChanged, "resources": ResourcesListChanged, "prompts": PromptsListChanged}
TOOLS = ("learn", "touch", "say", "whisper", "flood", "drop_streams")
NOTES = ("notes://one", "notes://two", "notes://dir")


async def flood(out: int, what: str, count: int) -> None:
    """The very lines that the SDK writes to a client of the old era over stdio. It takes a tenth of a second for a thousand of
    them, which is no flood."""
    lines = (
        f'{{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"info","data":"{number}"}}}}\n'
        if what == "log"
        else f'{{"jsonrpc":"2.0","method":"notifications/{what}/list_changed"}}\n'
        for number in range(count)
    )
    # So few that a pipe takes them as one: nothing that the SDK writes comes in the middle of a line.
    while written := "".join(islice(lines, 40)).encode():
        while written:
            written = written[os.write(out, written) :]
        await anyio.sleep(0.001)


class Telling:
    """What it knows, and whom it tells. Each era takes its own words."""

    def __init__(self, log: Path | None = None) -> None:
        self.log = log
        self.known: dict[str, list[str]] = {"tools": [*TOOLS], "resources": [*NOTES], "prompts": ["greet"]}
        self.bus = InMemorySubscriptionBus()
        self.listening = ListenHandler(self.bus)
        self.subscribed: list[str] = []
        self.levels: list[str] = []
        self._out = -1
        self.server = self._built()

    def _built(self) -> Server[Any]:
        with warnings.catch_warnings():
            # Logging is on its way out, and still there.
            warnings.simplefilter("ignore")
            return self._server()

    def _server(self) -> Server[Any]:
        return Server(  # pyright: ignore[reportDeprecated]
            "telling",
            on_list_tools=self._tools,
            on_call_tool=self._call,
            on_list_resources=self._resources,
            on_read_resource=self._read,
            on_list_prompts=self._prompts,
            on_subscribe_resource=self._subscribe,
            on_unsubscribe_resource=self._unsubscribe,
            on_set_logging_level=self._level,
            on_subscriptions_listen=self._listen,
        )

    def _note(self, **what: Any) -> None:
        if self.log is not None:
            with self.log.open("a") as file:
                file.write(json.dumps(what) + "\n")

    async def _tools(self, _ctx: Any, _params: Any) -> types.ListToolsResult:
        tools = [types.Tool(name=name, input_schema={"type": "object"}) for name in self.known["tools"]]
        return types.ListToolsResult(tools=tools, ttl_ms=0, cache_scope="private")

    async def _resources(self, _ctx: Any, _params: Any) -> types.ListResourcesResult:
        listed = [types.Resource(name=uri, uri=uri) for uri in self.known["resources"]]
        return types.ListResourcesResult(resources=listed, ttl_ms=0, cache_scope="private")

    async def _prompts(self, _ctx: Any, _params: Any) -> types.ListPromptsResult:
        listed = [types.Prompt(name=name) for name in self.known["prompts"]]
        return types.ListPromptsResult(prompts=listed, ttl_ms=0, cache_scope="private")

    async def _read(self, _ctx: Any, params: Any) -> types.ReadResourceResult:
        note = types.TextResourceContents(uri=params.uri, text="a note")
        return types.ReadResourceResult(contents=[note], ttl_ms=0, cache_scope="private")

    async def _subscribe(self, _ctx: Any, params: Any) -> types.EmptyResult:
        self.subscribed.append(str(params.uri))
        self._note(subscribe=str(params.uri))
        return types.EmptyResult()

    async def _unsubscribe(self, _ctx: Any, params: Any) -> types.EmptyResult:
        if str(params.uri) in self.subscribed:
            self.subscribed.remove(str(params.uri))
        self._note(unsubscribe=str(params.uri))
        return types.EmptyResult()

    async def _level(self, _ctx: Any, params: Any) -> types.EmptyResult:
        self.levels.append(params.level)
        self._note(level=params.level)
        return types.EmptyResult()

    async def _listen(self, ctx: Any, params: Any) -> Any:
        wanted = params.notifications.model_dump(by_alias=True, exclude_none=True)
        self._note(listen=wanted)
        try:
            return await self.listening(ctx, params)
        finally:
            self._note(listened=wanted)

    async def _call(self, ctx: Any, params: Any) -> types.CallToolResult:
        given = params.arguments or {}
        match params.name:
            case "learn":
                self.known[given["kind"]].append(given["name"])
                await self._changed(ctx, given["kind"])
            case "touch":
                await self._updated(ctx, given["uri"])
            case "say":
                # By the request's own stream, where there is one.
                await self._say(ctx, given, ctx.request_id)
            case "whisper":
                await self._say(ctx, given, None)
            case "flood":
                await flood(self._out, given["what"], given["count"])
            case "drop_streams":
                self.listening.close()
            case _:
                pass
        return types.CallToolResult(content=[types.TextContent(type="text", text="done")])

    async def _changed(self, ctx: Any, kind: str) -> None:
        await self.bus.publish(EVENTS[kind]())
        sent = {
            "tools": ctx.session.send_tool_list_changed,
            "resources": ctx.session.send_resource_list_changed,
            "prompts": ctx.session.send_prompt_list_changed,
        }
        await sent[kind]()

    async def _updated(self, ctx: Any, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        await ctx.session.send_resource_updated(uri)

    async def _say(self, ctx: Any, given: Any, request: Any) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            await ctx.session.send_log_message(given["level"], given["text"], related_request_id=request)

    async def run(self) -> None:
        self._note(pid=os.getpid())
        # The SDK puts another file in the place of its own.
        self._out = os.dup(1)
        options = self.server.create_initialization_options(NotificationOptions(True, True, True))
        async with stdio_server() as (read, write):
            await self.server.run(read, write, options)


if __name__ == "__main__":
    anyio.run(Telling(Path(sys.argv[1])).run)
