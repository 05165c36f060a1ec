"""WebSocket dispatchers for tests, opened and closed at the ends of their block."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager

from bascule.transports.websocket.dispatcher import WebSocketDispatcher
from support.waiting import fail_after

LONG = 20.0
"""Seconds for what happens at once. A test that waits so long has failed."""


def a_dispatcher(
    url: str, headers: Mapping[str, str] | None = None, *, max_message: int = 1_000_000, connect_timeout: float = LONG
) -> WebSocketDispatcher:
    """One that is not open yet."""
    return WebSocketDispatcher(
        url.replace("http://", "ws://"), headers or {}, max_message=max_message, connect_timeout=connect_timeout
    )


@asynccontextmanager
async def ws_link(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    max_message: int = 1_000_000,
    grace: float = 2.0,
    heard: "asyncio.Queue[str] | None" = None,
) -> AsyncGenerator[WebSocketDispatcher]:
    """An open one, for the length of the block, which must not hang. What is notified goes to `heard`."""
    dispatcher = a_dispatcher(url, headers, max_message=max_message)
    if heard is not None:
        dispatcher.on_notice = lambda method, _: heard.put_nowait(method)
    async with fail_after(LONG, "the block"):
        try:
            await dispatcher.open()
            yield dispatcher
        finally:
            await dispatcher.close(grace)
