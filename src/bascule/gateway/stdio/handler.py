"""MCP session of the one client on stdio: serves its requests, and sends notifications between them."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec

from bascule.core.json_types import JsonObject, as_object
from bascule.gateway.mcp.client import Client
from bascule.gateway.mcp.elicitation import Ask
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.handler import Desk
from bascule.gateway.mcp.legacy_methods import WISHES, Wishes, note_roots, opened
from bascule.gateway.mcp.listen import Listening, Streams
from bascule.gateway.mcp.log_messages import level_of
from bascule.gateway.mcp.notifications import DEFAULT_LEVEL, Outlet, Tell
from bascule.upstream.resource_subscriptions import LISTEN


class Attendance:
    """One client, who may be of either era, and may introduce itself anew."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._streams = Streams()
        self._outlet: Outlet | None = None
        """Where a client of the old era is told of news, once it has introduced itself."""
        self._telling: asyncio.Task[None] | None = None
        self.capabilities: Mapping[str, Any] = {}
        """What a client of the old era said that it can be asked."""

    def level(self, asked: Asked) -> str:
        """From which level on the client hears what servers remark in the course of a request. Raises `Rejected`."""
        if asked.new:
            return level_of(asked)
        return DEFAULT_LEVEL if self._outlet is None else self._outlet.level

    async def serve(self, asked: Asked, client: Client) -> JsonObject | msgspec.Raw:
        """The result. Raises `Rejected`."""
        session = self._desk.session
        if asked.new and asked.method == LISTEN:
            return await Listening(session, self._streams).serve(asked, client)
        if not asked.new and asked.method in WISHES:
            return await Wishes(session, self._outlet).serve(asked)
        if asked.method == "initialize":
            await self.close()
            self.capabilities = as_object(asked.params.get("capabilities"))
            self._outlet = opened(session)
        return await self._desk.serve(asked, client)

    def send_away(self, server: str, theirs: str) -> str:
        """A server sends the person of a client of the old era to an address. Gives the id by which it hears of it."""
        # One that has not introduced itself offers nothing, so that nobody asks.
        return theirs if self._outlet is None else self._outlet.send_away(server, theirs)

    def begin_telling(self, tell: Tell, ask: Ask) -> None:
        """The client of the old era that has introduced itself is ready to hear of news."""
        if self._outlet is not None and self._telling is None:
            self._telling = asyncio.ensure_future(self._outlet.deliver(tell, ask))

    def roots_changed(self) -> None:
        """A client of the old era says that it has other roots."""
        if self._outlet is not None:
            note_roots(self._desk.session, self.capabilities, self._outlet)

    def end_streams(self) -> None:
        """End the requests by which a client of the new era listens: they have no other end."""
        self._streams.close()

    async def close(self) -> None:
        """Tell nothing between requests any more."""
        outlet, telling = self._outlet, self._telling
        self._outlet = self._telling = None
        if outlet is not None:
            outlet.close()
        if telling is not None:
            telling.cancel()
            await asyncio.wait((telling,))
