"""What is told of every call of a tool of ours, beside the framework's own event."""

from collections.abc import Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any
from uuid import UUID
from weakref import WeakSet

from weakincentives.runtime.events import Dispatcher, ToolInvoked

from bascule.bridges.weakincentives.results import McpToolResult, Source


@dataclass(frozen=True, slots=True)
class McpToolInvoked:
    """One call ended. It follows the framework's own `ToolInvoked`, which a call that ends its run does not have."""

    tool_name: str
    params: Mapping[str, Any] | None
    """The arguments as the model gave them."""
    result: McpToolResult
    source: Source
    mcp_server: str | None
    session_id: UUID | None = None
    call_id: str | None = None


_told: WeakSet[Any] = WeakSet()
_turn = Lock()


def tell_on(dispatcher: Dispatcher) -> None:
    """Have every `ToolInvoked` of a tool of ours followed by ours. Doing so again changes nothing."""
    with _turn:
        if dispatcher in _told:
            return
        _told.add(dispatcher)

    def follow(event: object) -> None:
        assert isinstance(event, ToolInvoked)
        if isinstance(event.result, McpToolResult):
            dispatcher.dispatch(_ours(event, event.result))

    dispatcher.subscribe(ToolInvoked, follow)


def _ours(event: ToolInvoked, result: McpToolResult) -> McpToolInvoked:
    return McpToolInvoked(
        event.name, event.params, result, result.source, result.mcp_server, event.session_id, event.call_id
    )
