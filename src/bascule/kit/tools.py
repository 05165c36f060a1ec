"""Tool registry of a kit server: rejects a tool without permissions, and publishes each change of its lists."""

from typing import Any, TypeVar

from fastmcp.prompts.base import Prompt
from fastmcp.server.providers.local_provider import LocalProvider
from fastmcp.tools.base import Tool
from fastmcp.tools.function_tool import FunctionTool
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged

from bascule.core.errors import UsageError
from bascule.core.permission import Permission
from bascule.kit.admission import Admission
from bascule.kit.events.changes import Changes
from bascule.kit.governed_tool import GovernedTool
from bascule.kit.permission import marked_permissions, read_permissions

Component = TypeVar("Component", bound=Any)


class AnnouncingProvider(LocalProvider):
    """FastMCP's own registry, which says nothing of changes, with those places made to speak through which all of them
    come."""

    def __init__(self, changes: Changes, **options: Any) -> None:
        super().__init__(**options)
        self._changes = changes

    def _add_component(self, component: Component) -> Component:
        before = self._get_component(component.key)
        added = super()._add_component(component)
        if added is not before:
            self._changes.tell(_list_of(added))
        return added

    def _remove_component(self, key: str) -> None:
        found = self._get_component(key)
        super()._remove_component(key)
        self._changes.tell(_list_of(found))


def _list_of(component: Any) -> ServerEvent:
    """The change of the list that it is in. Templates are listed with the resources."""
    if isinstance(component, Tool):
        return ToolsListChanged()
    return PromptsListChanged() if isinstance(component, Prompt) else ResourcesListChanged()


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
