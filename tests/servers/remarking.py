"""A server of the kit whose tool remarks something at every level."""

import sys

from fastmcp import Context

from bascule.kit import ToolPermission, create_mcp_server, tool_permission

mcp = create_mcp_server("remarking", development="tester")


@mcp.tool
@tool_permission(ToolPermission.READ)
async def work(ctx: Context) -> str:
    """Do something, and say so."""
    await ctx.debug("looking")
    await ctx.info("found it")
    await ctx.warning("it is old", extra={"days": 9})
    await ctx.error("it is broken")
    return "done"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        mcp.run(transport="http", port=int(sys.argv[1]))
    else:
        mcp.run()
