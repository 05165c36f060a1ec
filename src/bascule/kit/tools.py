"""Where a server's own tools are registered: none comes in that does not say what it does."""

from typing import Any, TypeVar

from fastmcp.tools.base import Tool
from fastmcp.tools.function_tool import FunctionTool

from bascule.core.errors import UsageError
from bascule.core.permission import Permission
from bascule.kit.admission import Admission
from bascule.kit.events.changes import Changes
from bascule.kit.governed_tool import GovernedTool
from bascule.kit.permission import marked_permissions, read_permissions
from bascule.kit.tools__announcing import AnnouncingProvider

Component = TypeVar("Component", bound=Any)


class GoverningProvider(AnnouncingProvider):
    """FastMCP's own registry, with the one place through which every tool comes in guarded."""

    def __init__(self, admission: Admission, changes: Changes, **options: Any) -> None:
        super().__init__(changes, **options)
        self._admission = admission

    def _add_component(self, component: Component) -> Component:
        if not isinstance(component, Tool):
            return super()._add_component(component)
        wanted = governed(component, self._admission)
        added = super()._add_component(wanted)
        # Whoever registers it looks whether it was taken, and goes on with what it gave.
        return component if added is wanted else added  # pyright: ignore[reportReturnType]


def governed(tool: Tool, admission: Admission) -> GovernedTool:
    """The tool as it may be run. Raises `UsageError` where it does not say what it does."""
    # One that another server governs would be asked about in that server's levels alone.
    if isinstance(tool, GovernedTool) and tool.admission is admission:
        return tool
    permissions = permissions_of(tool)
    if permissions is None:
        raise UsageError(
            f"the tool {tool.name!r} does not say what it does, so it is not registered",
            fix="put @tool_permission(ToolPermission.READ), or WRITE, or CONNECT, below @mcp.tool",
        )
    return GovernedTool.of(tool, permissions, admission)


def permissions_of(tool: Tool) -> frozenset[Permission] | None:
    """What the author of a tool says of it: above its function, or in its `_meta`."""
    if isinstance(tool, GovernedTool):
        return tool.permissions
    marked = marked_permissions(tool.fn) if isinstance(tool, FunctionTool) else None
    return marked or read_permissions(tool.meta)
