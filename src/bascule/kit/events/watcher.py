"""Watcher for one connection of the old era: sends change notifications until the connection ends."""

import asyncio
from collections.abc import Callable
from typing import Any

from mcp.server.connection import Connection
from mcp.server.session import ServerSession
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from bascule.kit.events.changes import Changes

KEY = "dev.bascule/watcher"
"""Under which it is found in the state of its connection."""


class Watcher:
    """It hears of every list, because the server says that it tells of them, and of the resources it asked about."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sending: dict[ServerEvent, asyncio.Task[None]] = {}
        self._again: set[ServerEvent] = set()
        self.uris: set[str] = set()

    @classmethod
    def of(cls, session: ServerSession, changes: Changes) -> "Watcher":
        """The one of this connection, from the first time it is asked for until the connection ends."""
        # A session is made for each request; what lasts is behind it.
        connection = session._connection  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        state: dict[str, Any] = connection.state
        if KEY not in state:
            state[KEY] = watcher = cls(connection)
            connection.exit_stack.callback(watcher.end, changes.subscribe(watcher.hear))
        return state[KEY]

    def end(self, unsubscribe: Callable[[], None]) -> None:
        unsubscribe()
        self._again.clear()
        for task in self._sending.values():
            task.cancel()

    def hear(self, event: ServerEvent) -> None:
        if isinstance(event, ResourceUpdated) and event.uri not in self.uris:
            return
        if event in self._sending:
            # A client that reads slowly has one message on its way, however much changes meanwhile.
            self._again.add(event)
            return
        self._send(event)

    def _send(self, event: ServerEvent) -> None:
        task = self._sending[event] = asyncio.get_running_loop().create_task(_sent(self._connection, event))
        task.add_done_callback(lambda _: self._done(event))

    def _done(self, event: ServerEvent) -> None:
        del self._sending[event]
        if event in self._again:
            self._again.discard(event)
            self._send(event)


async def _sent(connection: Connection, event: ServerEvent) -> None:
    match event:
        case ToolsListChanged():
            await connection.send_tool_list_changed()
        case PromptsListChanged():
            await connection.send_prompt_list_changed()
        case ResourcesListChanged():
            await connection.send_resource_list_changed()
        case ResourceUpdated(uri=uri):
            await connection.send_resource_updated(uri)
