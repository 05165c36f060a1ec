"""Our dispatchers as the official SDK sees them, so that its `ClientSession` can run on any of our transports.

The only file that touches the SDK's provisional dispatcher surface.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.abc
from mcp.shared.dispatcher import (
    CallOptions,
    OnNotify,
    OnNotifyIntercept,
    OnRequest,
    run_notify_intercept,
)
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.transport_context import TransportContext
from mcp_types import CONNECTION_CLOSED, INTERNAL_ERROR, INVALID_PARAMS, REQUEST_TIMEOUT
from pydantic import ValidationError

from bascule.core.errors import ConnectionLost, PeerError, PeerRefused, ReplyTimeout
from bascule.core.jsonvalue import JsonObject
from bascule.core.request import Request
from bascule.transports.dispatcher import Dispatcher

NO_TIMEOUT_GIVEN = 30.0
"""Seconds for a request for which the SDK names no limit. It would wait for ever."""

NOTICES_WAITING = 1000
"""Notifications that may wait for the SDK's callbacks. A server can send them faster than anybody reads."""


class SdkFace:
    """One of our dispatchers, spoken to in the SDK's way. Our errors arrive as the cause of its `MCPError`."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._notices: asyncio.Queue[tuple[str, JsonObject]] = asyncio.Queue(NOTICES_WAITING)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        options = opts or {}
        request = Request(
            method,
            dict(params) if params is not None else None,
            options.get("timeout", NO_TIMEOUT_GIVEN),
            on_progress=options.get("on_progress"),
            headers=options.get("headers", {}),
            request_id=options.get("request_id"),
            cancel_on_abandon=options.get("cancel_on_abandon", True),
        )
        try:
            return await self._dispatcher.send(request)
        except PeerError as error:
            raise as_mcp_error(error) from error

    async def notify(self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None) -> None:  # noqa: ARG002 -- the SDK's signature
        try:
            await self._dispatcher.notify(method, dict(params) if params is not None else None)
        except PeerError as error:
            raise as_mcp_error(error) from error

    async def run(
        self,
        on_request: OnRequest,
        on_notify: OnNotify,
        on_notify_intercept: OnNotifyIntercept | None = None,
        *,
        task_status: anyio.abc.TaskStatus[None] = anyio.TASK_STATUS_IGNORED,
    ) -> None:
        """Hand what the server sends to the SDK until the link is lost."""

        listening_already = self._dispatcher.on_notice

        def notice(method: str, params: JsonObject) -> None:
            if listening_already is not None:
                listening_already(method, params)
            if run_notify_intercept(on_notify_intercept, method, params):
                return
            try:
                self._notices.put_nowait((method, params))
            except asyncio.QueueFull:
                self._dispatcher.counters.notices_dropped += 1

        async def answer(method: str, params: JsonObject) -> JsonObject:
            try:
                return await on_request(_Context(self._dispatcher.kind), method, params)
            except MCPError as error:
                raise PeerRefused(error.message, rpc_code=error.code, data=error.data) from error
            except ValidationError as error:
                raise PeerRefused("invalid request parameters", rpc_code=INVALID_PARAMS) from error

        self._dispatcher.on_notice, self._dispatcher.on_request = notice, answer
        delivering = asyncio.create_task(self._deliver(on_notify))
        task_status.started()
        try:
            await asyncio.shield(self._dispatcher.lost)
        finally:
            delivering.cancel()

    async def _deliver(self, on_notify: OnNotify) -> None:
        while True:
            method, params = await self._notices.get()
            await on_notify(_Context(self._dispatcher.kind), method, params)


class _Context:
    """What the SDK wants to know about a message the server sent. It carries no way back: a client has one channel."""

    message_metadata = None
    can_send_request = False

    def __init__(self, kind: str) -> None:
        self.transport = TransportContext(kind=kind, can_send_request=False)
        self.request_id = 0
        self.cancel_requested = anyio.Event()

    async def send_raw_request(self, method: str, *_: Any, **__: Any) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(self, method: str, *_: Any, **__: Any) -> None:
        raise NoBackChannelError(method)

    async def progress(self, progress: float, total: float | None = None, message: str | None = None) -> None:
        """A client reports no progress."""


def as_mcp_error(error: PeerError) -> MCPError:
    match error:
        case PeerRefused():
            return MCPError(error.rpc_code, error.message, error.data)
        case ReplyTimeout():
            return MCPError(REQUEST_TIMEOUT, error.message)
        case ConnectionLost():
            return MCPError(CONNECTION_CLOSED, error.message)
        case _:
            return MCPError(INTERNAL_ERROR, error.message)
