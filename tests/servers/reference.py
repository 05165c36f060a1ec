"""One set of tools on the official SDK's server, and on FastMCP's, for any transport: peers that nobody here wrote.

Started as a script it speaks stdio: its arguments are the address for notes (see `support.notebook`) and `sdk` or
`fastmcp`. In process, `built` gives the server object.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, Literal

Maker = Literal["sdk", "fastmcp", "functions"]


class Notes:
    """Sends notes to whoever keeps the notebook, one datagram each."""

    def __init__(self, address: str) -> None:
        self._address = address

    def add(self, text: str) -> None:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
            out.sendto(text.encode(), self._address)


class Meeting:
    """Calls that wait for each other, and are then answered in the reverse of their order."""

    def __init__(self) -> None:
        self._here = 0
        self._answered = 0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def turn(self, place: int, size: int) -> AsyncGenerator[None]:
        async with self._changed:
            self._here += 1
            self._changed.notify_all()
            await self._changed.wait_for(lambda: self._here == size and self._answered == size - 1 - place)
            yield
            self._answered += 1
            self._changed.notify_all()


class Tools:
    """What the tools do, whoever serves them."""

    def __init__(self, notes: Notes) -> None:
        self._notes = notes
        self._meetings: dict[str, Meeting] = {}

    def all(self) -> tuple[Callable[..., Awaitable[str]], ...]:
        return self.echo, self.repeat, self.meet, self.mark, self.hang

    async def echo(self, message: str) -> str:
        """Give back what is given."""
        return message

    async def repeat(self, text: str, times: int) -> str:
        """Give back a text many times over."""
        return text * times

    async def meet(self, name: str, place: int, size: int) -> str:
        """Answer after all others of the meeting have come, the last one first."""
        async with self._meetings.setdefault(name, Meeting()).turn(place, size):
            return f"{name} {place}"

    async def mark(self, label: str) -> str:
        """Note that the call has arrived."""
        self._notes.add(f"marked {label}")
        return label

    async def hang(self, label: str) -> str:
        """Never answer, and note what becomes of that."""
        self._notes.add(f"hanging {label}")
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            self._notes.add(f"stopped {label}")
        return label

    async def wait_for(self, answer: Awaitable[Any], label: str) -> str:
        """Note what becomes of waiting for a person."""
        self._notes.add(f"waiting {label}")
        try:
            await answer
        finally:
            self._notes.add(f"stopped {label}")
        return label


async def count(to: int, report: Callable[..., Awaitable[None]]) -> str:
    for number in range(1, to + 1):
        await report(number, to, f"at {number}")
    return f"counted to {to}"


def sdk_server(tools: Tools) -> Any:
    from mcp.server import MCPServer
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.shared.exceptions import MCPError

    from servers.generous import offer_sdk
    from servers.growing import grow_sdk

    server = MCPServer("reference", log_level="CRITICAL")

    async def counting(to: int, ctx: Context[Any, Any]) -> str:
        return await count(to, ctx.report_progress)

    async def stall(label: str, ctx: Context[Any, Any]) -> str:
        await ctx.report_progress(1, 2, "begun")
        return await tools.hang(label)

    async def fail(why: str) -> str:
        raise ToolError(why)

    async def refuse(code: int, message: str, data: dict[str, Any]) -> str:
        raise MCPError(code, message, data)

    for tool in (*tools.all(), stall, fail, refuse):
        server.add_tool(tool)
    server.add_tool(counting, name="count")
    offer_sdk(server)
    offer_waiting(server, tools)
    grow_sdk(server)
    return server


def offer_waiting(server: Any, tools: Tools) -> None:
    """Tools of the official SDK's server that wait for a person: `consult` in the middle of its work, as only the old
    era lets it, `settle` before it begins."""
    from mcp.server.elicitation import ElicitationResult
    from mcp.server.mcpserver import Context
    from mcp.server.mcpserver.resolve import Elicit, Resolve

    from servers.generous import QUESTION, Colour

    def which() -> Elicit[Colour]:
        return Elicit(QUESTION, Colour)

    async def consult(label: str, ctx: Context[Any, Any]) -> str:
        return await tools.wait_for(ctx.elicit(QUESTION, Colour), label)

    async def settle(label: str, chosen: Annotated[ElicitationResult[Colour], Resolve(which)]) -> str:
        return await tools.mark(f"{label} {chosen.action}")

    server.add_tool(consult)
    server.add_tool(settle)


def fastmcp_server(tools: Tools) -> Any:
    from fastmcp import Context, FastMCP
    from fastmcp.exceptions import ToolError

    from servers.generous import offer_fastmcp
    from servers.growing import grow_fastmcp

    server = FastMCP("reference", middleware=[_refusing()])

    async def counting(to: int, ctx: Context) -> str:
        return await count(to, ctx.report_progress)

    async def stall(label: str, ctx: Context) -> str:
        await ctx.report_progress(1, 2, "begun")
        return await tools.hang(label)

    async def fail(why: str) -> str:
        raise ToolError(why)

    async def refuse(code: int, message: str, data: dict[str, Any]) -> str:
        raise AssertionError((code, message, data))  # its middleware has refused before

    for tool in (*tools.all(), stall, fail, refuse):
        server.tool(tool)
    server.tool(counting, name="count")
    offer_fastmcp(server)
    grow_fastmcp(server)
    return server


def functions(tools: Tools) -> tuple[Callable[..., Any], ...]:
    """The same without a server. They have errors of their own, and none of the protocol."""
    from bascule import Progress, ToolRetryError, tool

    @tool(name="count")
    async def counting(to: int, say: Progress) -> str:
        async def report(*progress: Any) -> None:
            say(*progress)

        return await count(to, report)

    async def stall(label: str, say: Progress) -> str:
        say(1, 2, "begun")
        return await tools.hang(label)

    async def fail(why: str) -> str:
        raise ToolRetryError(why)

    return *tools.all(), counting, stall, fail


def _refusing() -> Any:
    """What a FastMCP tool raises is always its own error; an error of the protocol has to come from before it."""
    from fastmcp.server.middleware import Middleware
    from mcp.shared.exceptions import MCPError

    class Refusing(Middleware):
        async def on_call_tool(self, context: Any, call_next: Any) -> Any:
            if context.message.name == "refuse":
                given = context.message.arguments
                raise MCPError(given["code"], given["message"], given["data"])
            return await call_next(context)

    return Refusing()


def built(maker: Maker, notes: str) -> Any:
    """A server object that notes to this address."""
    return (sdk_server if maker == "sdk" else fastmcp_server)(Tools(Notes(notes)))


if __name__ == "__main__":
    # As a script it stands alone, and finds its neighbours as the tests do.
    sys.path.insert(0, str(Path(__file__).parents[1]))
    address, chosen = sys.argv[1:]
    if chosen == "sdk":
        built("sdk", address).run("stdio")
    else:
        # Before it shows its banner it asks the index of packages, far away, whether there is a newer one of itself.
        built("fastmcp", address).run("stdio", show_banner=False)
