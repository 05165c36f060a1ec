"""Log message notifications of servers during a client's request, sent on the stream of that request."""

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import TypeVar

from bascule.core.json_types import JsonObject
from bascule.core.log_listener import LEVELS
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp.client import Hearer
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.notifications import left_out
from bascule.runtime.session import AgentSession
from bascule.upstream.notifications import REMARK
from bascule.wire.request_meta import INVALID_PARAMS, LOG_LEVEL_KEY

MOST_WAITING = 64
"""Remarks that wait until the client has read those before. More are left out, and counted."""

MOST = 1000
"""Remarks that are told in the course of one request."""

Result = TypeVar("Result")


def level_of(asked: Asked) -> str:
    """From which level on a client of the new era hears remarks, as it says with each request. Empty: not at all."""
    level = asked.meta.get(LOG_LEVEL_KEY)
    if level is None:
        return ""
    if level not in LEVELS:
        raise Rejected(INVALID_PARAMS, f"{LOG_LEVEL_KEY} is one of {', '.join(LEVELS)}")
    return str(level)


class RequestEar:
    """The ear of one request. It holds few remarks, and tells them as the client reads."""

    def __init__(self, client: Hearer) -> None:
        self.level = client.level
        self._client: Hearer | None = client
        self._servers = set[str]()
        self._waiting: deque[JsonObject] = deque()
        self._told = 0
        self._missed = 0
        self._telling: asyncio.Task[None] | None = None

    def at(self, server: str) -> None:
        self._servers.add(server)

    def is_at(self, server: str) -> bool:
        return server in self._servers

    def hear(self, server: str, params: JsonObject) -> None:  # noqa: ARG002 -- the remark itself says whose it is
        if self._client is None:
            return
        if len(self._waiting) >= MOST_WAITING or self._told >= MOST:
            self._missed += 1
            return
        self._told += 1
        self._waiting.append(params)
        if self._telling is None:
            self._telling = asyncio.ensure_future(self._tell(self._client))

    async def finish(self) -> None:
        """The answer is there. What was remarked before it is told before it."""
        client, self._client = self._client, None
        if self._telling is not None:
            await self._telling
        if self._missed and client is not None:
            await client.tell(REMARK, left_out(self._missed))

    def close(self) -> None:
        """Nobody hears any more. It may be held on to for a while by what was begun in the request's course."""
        self._client = None
        self._waiting.clear()
        if self._telling is not None:
            self._telling.cancel()

    async def _tell(self, client: Hearer) -> None:
        while self._waiting:
            await client.tell(REMARK, self._waiting.popleft())
        self._telling = None


async def heard(session: AgentSession, client: Hearer, served: Awaitable[Result]) -> Result:
    """Serve a request, its client hearing what servers remark meanwhile."""
    ear = RequestEar(client)
    with session.heard_by(ear):
        try:
            try:
                return await served
            finally:
                await ear.finish()
        finally:
            ear.close()
