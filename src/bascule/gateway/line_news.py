"""News for a client whose connection carries everything: what it wants to hear, and the telling."""

import asyncio

from bascule.gateway.desk import Desk
from bascule.gateway.envelope import Asked
from bascule.gateway.exchange import Serves
from bascule.gateway.listening import Listening
from bascule.gateway.outlet import DEFAULT_LEVEL, Outlet, Tell
from bascule.gateway.remarks import level_of
from bascule.gateway.streams import Streams
from bascule.gateway.wishes import WISHES, Wishes, opened
from bascule.links.following import LISTEN


class LineNews:
    """One client's. Of the new era it listens by requests, of the old one it is told from its introduction on."""

    def __init__(self, desk: Desk, tell: Tell) -> None:
        self._desk = desk
        self._tell = tell
        self._streams = Streams()
        self._outlet: Outlet | None = None
        self._telling: asyncio.Task[None] | None = None

    def serves(self, asked: Asked) -> Serves:
        """Who answers a request."""
        if asked.new and asked.method == LISTEN:
            return Listening(self._desk.session, self._streams)
        if not asked.new and asked.method in WISHES:
            return Wishes(self._desk.session, self._outlet)
        return self._desk

    def level(self, asked: Asked) -> str:
        """From which level on the client hears remarks in the course of a request."""
        if asked.new:
            return level_of(asked)
        return DEFAULT_LEVEL if self._outlet is None else self._outlet.level

    def begin(self) -> None:
        """A client of the old era has introduced itself, and was answered."""
        if self._outlet is None:
            self._outlet = opened(self._desk.session)
            self._telling = asyncio.ensure_future(self._outlet.deliver(self._tell))

    def end(self) -> None:
        """Tell nothing more. Those who listen by a request are answered."""
        self._streams.close()
        if self._outlet is not None:
            self._outlet.close()
        if self._telling is not None:
            # It may wait for a client that does not read.
            self._telling.cancel()
