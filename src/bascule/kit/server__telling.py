"""A FastMCP server whose clients are told what changes in it."""

from typing import Any, Self

from fastmcp import FastMCP
from fastmcp.server.providers.base import Provider
from fastmcp.server.transforms import Transform
from mcp.shared.subscriptions import ResourceUpdated

from bascule.kit.events.changes import ALL_LISTS, Changes
from bascule.kit.events.listen import Listening


class TellingServer(FastMCP[Any]):
    """FastMCP tells old clients that it speaks of changes, and speaks of none; new ones cannot ask it to."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.changes = Changes()
        super().__init__(*args, **options)
        self.listening = Listening(self.changes, self._is_visible)
        self.listening.serve(self._mcp_server)

    def resource_updated(self, uri: str) -> None:
        """Tell the clients that watch it that a resource changed. May be called from any thread."""
        self.changes.tell(ResourceUpdated(uri))

    async def _is_visible(self, uri: str) -> bool:
        """Whether whoever asks could read it."""
        return await self.get_resource(uri) is not None or await self.get_resource_template(uri) is not None

    # What changes more than one thing may change every list.

    def add_provider(self, provider: Provider, *, namespace: str = "") -> None:
        super().add_provider(provider, namespace=namespace)
        self.changes.tell(*ALL_LISTS)

    def add_transform(self, transform: Transform) -> None:
        super().add_transform(transform)
        self.changes.tell(*ALL_LISTS)

    def enable(self, **criteria: Any) -> Self:
        super().enable(**criteria)
        self.changes.tell(*ALL_LISTS)
        return self

    def disable(self, **criteria: Any) -> Self:
        super().disable(**criteria)
        self.changes.tell(*ALL_LISTS)
        return self
