"""Tools by which a reference server is changed while it runs: it learns and forgets others, and says so as its era does."""

from collections.abc import Callable
from typing import Any


def saying(text: str) -> Callable[[], str]:
    """A tool that says this. Its description is part of its definition, so another text is another definition."""

    def say() -> str:
        return text

    say.__doc__ = f"Says {text}."
    return say


def grow_sdk(server: Any) -> None:
    """On the official SDK's server. Each of its ways to tell is silent in the era that is not its own."""
    from mcp.server.mcpserver import Context

    async def learn(tool: str, text: str, ctx: Context[Any, Any]) -> str:
        forget_quietly(tool)
        server.add_tool(saying(text), name=tool)
        return await tell(ctx)

    async def forget(tool: str, ctx: Context[Any, Any]) -> str:
        forget_quietly(tool)
        return await tell(ctx)

    async def add_note(day: str, ctx: Context[Any, Any]) -> str:
        server.resource(f"notes://new/{day}")(saying(day))
        await ctx.notify_resources_changed()
        await ctx.session.send_resource_list_changed()
        return day

    def forget_quietly(tool: str) -> None:
        if any(known.name == tool for known in server._tool_manager.list_tools()):
            server.remove_tool(tool)

    async def tell(ctx: Context[Any, Any]) -> str:
        await ctx.notify_tools_changed()
        await ctx.session.send_tool_list_changed()
        return "done"

    for tool in (learn, forget, add_note):
        server.add_tool(tool)


def grow_fastmcp(server: Any) -> None:
    """On FastMCP's, which tells nobody in the new era: what it lists holds as long as it says, and no longer."""
    from fastmcp.tools import Tool

    async def learn(tool: str, text: str) -> str:
        forget_quietly(tool)
        server.add_tool(Tool.from_function(saying(text), name=tool))
        learned.add(tool)
        return "done"

    async def forget(tool: str) -> str:
        forget_quietly(tool)
        return "done"

    learned = set[str]()

    def forget_quietly(tool: str) -> None:
        if tool in learned:
            server.local_provider.remove_tool(tool)
            learned.remove(tool)

    for tool in (learn, forget):
        server.tool(tool)
