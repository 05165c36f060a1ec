"""A registry that tells what comes into it and what leaves it."""

from typing import Any, TypeVar

from fastmcp.prompts.base import Prompt
from fastmcp.server.providers.local_provider import LocalProvider
from fastmcp.tools.base import Tool
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ServerEvent, ToolsListChanged

from bascule.kit.events.changes import Changes

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
