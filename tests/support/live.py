"""A server of the official SDK, in this process, whose tools the test changes while it runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from mcp.server.lowlevel import Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult, ListToolsResult, TextContent, Tool

from bascule.config import InProcessTransport, ServerConfig
from support.runtime import TIMEOUTS
from support.waiting import fail_after

T = TypeVar("T")
Era = Literal["old", "new"]


async def until(look: Callable[[], Awaitable[T]], holds: Callable[[T], bool], what: str = "a change") -> T:
    """Look again and again until this holds. Gives what was seen then."""
    async with fail_after(20, what):
        seen = await look()
        while not holds(seen):
            await asyncio.sleep(0.01)
            seen = await look()
    return seen


class Living:
    """The server, and how it stands: what it lists, and how often it was asked."""

    def __init__(self, *tools: str, ttl: int = 0) -> None:
        self.tools: dict[str, str] = dict.fromkeys(tools, "Does as told.")
        self.ttl = ttl
        self.lists = 0
        self.failing = ""
        """What it refuses to list with, if anything."""
        self.free = asyncio.Event()
        """Cleared, it takes its time to list."""
        self.free.set()
        self.asked = asyncio.Event()
        self._sessions: list[Any] = []
        self._bus = InMemorySubscriptionBus()
        self.listening = ListenHandler(self._bus)
        self.server: Server[Any] = Server(
            "living",
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=self.listening,
        )

    def config(self, era: Era = "new", name: str = "work", **config: Any) -> ServerConfig:
        return ServerConfig(name, InProcessTransport(self.server), era=era, timeouts=TIMEOUTS, **config)

    async def become(self, *tools: str, **described: str) -> None:
        """Have these tools instead, and say so in both eras' words. Each era takes its own."""
        self.tools = dict.fromkeys(tools, "Does as told.") | described
        await self.announce()

    async def announce(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for session in self._sessions:
            await session.send_tool_list_changed()

    async def _list(self, ctx: Any, _params: Any) -> ListToolsResult:
        self.lists += 1
        self.asked.set()
        self._sessions = [ctx.session]
        await self.free.wait()
        if self.failing:
            raise MCPError(-32603, self.failing)
        listed = [
            Tool(name=name, description=text, input_schema={"type": "object"}) for name, text in self.tools.items()
        ]
        return ListToolsResult(tools=listed, ttl_ms=self.ttl, cache_scope="private")

    async def _call(self, _ctx: Any, params: Any) -> CallToolResult:
        return CallToolResult(content=[TextContent(type="text", text=f"{params.name}: {self.tools[params.name]}")])
