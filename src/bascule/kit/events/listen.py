"""Subscriptions of clients to changes: one long listen request in the new era, one subscription per resource in the
old."""

import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
from fastmcp.server.dependencies import get_access_token
from mcp.server import Server
from mcp.server.context import ServerRequestContext
from mcp.server.subscriptions import SUBSCRIPTION_ID_META_KEY, ListenHandler
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    EmptyResult,
    NotificationParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    SubscriptionsListenResult,
    UnsubscribeRequestParams,
)

from bascule.kit.events.changes import Changes
from bascule.kit.events.watcher import Watcher

MAX_WATCHED = 1000
"""Resources that one client may ask to be told of. Without a cap, one that asks for ever makes us remember for ever."""

Request = ServerRequestContext[Any, Any]
Visible = Callable[[str], Awaitable[bool]]


class Listening:
    """The clients of one server that want to know, in either era.

    Nobody is told of a resource that they could not read: that it changed, and when, is something about it too.
    """

    def __init__(self, changes: Changes, visible: Visible, clock: Callable[[], float] = time.time) -> None:
        self._changes = changes
        self._visible = visible
        self._clock = clock
        self._streams = ListenHandler(changes)

    def serve(self, server: Server[Any]) -> None:
        """Answer for `server`. That these are answered is what it tells clients of its capabilities, too."""
        server.add_request_handler("subscriptions/listen", SubscriptionsListenRequestParams, self._listen)
        server.add_request_handler("resources/subscribe", SubscribeRequestParams, self._subscribe)
        server.add_request_handler("resources/unsubscribe", UnsubscribeRequestParams, self._unsubscribe)
        server.add_notification_handler("notifications/initialized", NotificationParams, self._begin)

    def close(self) -> None:
        """End all long requests, each with its answer."""
        self._streams.close()

    async def _listen(self, request: Request, params: SubscriptionsListenRequestParams) -> SubscriptionsListenResult:
        wanted = params.notifications
        asked = list(dict.fromkeys(wanted.resource_subscriptions or ()))
        _within_bounds(len(asked))
        seen = [uri for uri in asked if await self._visible(uri)]
        granted = wanted.model_copy(update={"resource_subscriptions": seen})
        with anyio.move_on_after(self._seconds_left()):
            return await self._streams(request, params.model_copy(update={"notifications": granted}))
        return SubscriptionsListenResult(_meta={SUBSCRIPTION_ID_META_KEY: request.request_id})

    def _seconds_left(self) -> float | None:
        """How long whoever asks may be told things: a stream must not outlive the token by which it was let in."""
        token = get_access_token()
        if token is None or token.expires_at is None:
            return None
        return max(0.0, token.expires_at - self._clock())

    async def _begin(self, request: Request, _params: NotificationParams) -> None:
        Watcher.of(request.session, self._changes)

    async def _subscribe(self, request: Request, params: SubscribeRequestParams) -> EmptyResult:
        uri = str(params.uri)
        watched = Watcher.of(request.session, self._changes).uris
        _within_bounds(len(watched | {uri}))
        if not await self._visible(uri):
            raise MCPError(INVALID_PARAMS, f"Resource not found: {uri!r}", {"uri": uri})
        watched.add(uri)
        return EmptyResult()

    async def _unsubscribe(self, request: Request, params: UnsubscribeRequestParams) -> EmptyResult:
        Watcher.of(request.session, self._changes).uris.discard(str(params.uri))
        return EmptyResult()


def _within_bounds(count: int) -> None:
    if count > MAX_WATCHED:
        raise MCPError(INVALID_PARAMS, f"at most {MAX_WATCHED} resources can be watched at once")
