"""HTTP dispatchers for tests: opened, perhaps through the old era's handshake, and closed at the end of their block."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from bascule.core.json_types import JsonObject
from bascule.core.request import Permit, Request
from bascule.transports.auth.oauth_credentials import Credentials
from bascule.transports.http.dispatcher import HttpDispatcher
from bascule.transports.http.shared_connections import Kin
from support.waiting import fail_after

NEW = "2026-07-28"
OLD = "2025-11-25"

LONG = 20.0
"""Seconds for what happens at once. A test that waits so long has failed."""

ENVELOPE = {"io.modelcontextprotocol/protocolVersion": NEW, "io.modelcontextprotocol/clientCapabilities": {}}


class Leave:
    """A permit that a test can take away, and that counts how often it was asked."""

    def __init__(self, *answers: bool) -> None:
        self._answers = [*answers]
        self.asked = 0
        self.refused = asyncio.Event()

    def valid(self) -> bool:
        self.asked += 1
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        if not answer:
            self.refused.set()
        return answer


def ask(method: str = "tools/call", params: JsonObject | None = None, timeout: float = LONG, **terms: Any) -> Request:
    return Request(method, params, timeout, **terms)


def ask_new(method: str, params: JsonObject | None = None, name: str | None = None, **terms: Any) -> Request:
    """A request as the new era wants it, with envelope and headers."""
    headers = {"MCP-Protocol-Version": NEW, "Mcp-Method": method, **({} if name is None else {"Mcp-Name": name})}
    return Request(method, {**(params or {}), "_meta": ENVELOPE}, LONG, headers=headers, **terms)


@asynccontextmanager
async def http_link(
    url: str,
    headers: Mapping[str, str] | None = None,
    *,
    max_message: int = 1_000_000,
    connect_timeout: float = LONG,
    socket: str | None = None,
    login: Credentials | None = None,
    leave: Permit | None = None,
    kin: Kin | None = None,
) -> AsyncGenerator[HttpDispatcher]:
    """A dispatcher of which nothing has been agreed on yet."""
    dispatcher = HttpDispatcher(
        url,
        headers or {},
        max_message=max_message,
        connect_timeout=connect_timeout,
        socket=socket,
        login=login,
        kin=kin,
    )
    dispatcher.leave = leave
    await dispatcher.open()
    try:
        yield dispatcher
    finally:
        async with fail_after(LONG, "closing the link"):
            await dispatcher.close(2.0)


@asynccontextmanager
async def new_link(url: str, **options: Any) -> AsyncGenerator[HttpDispatcher]:
    async with http_link(url, **options) as dispatcher:
        dispatcher.adopt(NEW)
        yield dispatcher


@asynccontextmanager
async def old_link(url: str, version: str = OLD, **options: Any) -> AsyncGenerator[HttpDispatcher]:
    """A dispatcher after the old era's handshake."""
    async with http_link(url, **options) as dispatcher:
        hello = {"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        result = await dispatcher.send(ask("initialize", hello, cancel_on_abandon=False))
        dispatcher.adopt(result["protocolVersion"])
        await dispatcher.notify("notifications/initialized")
        yield dispatcher


def drain(queue: "asyncio.Queue[Any]") -> list[Any]:
    """All that is in a queue now."""
    return [queue.get_nowait() for _ in range(queue.qsize())]
