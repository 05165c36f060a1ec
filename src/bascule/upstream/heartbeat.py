"""Heartbeat of a link: detects a dead one, and sends a request to a silent server."""

import asyncio
from collections.abc import Awaitable, Callable

from bascule.core.errors import BasculeError, ConnectionLost, PermitLost
from bascule.core.json_types import JsonObject
from bascule.core.request import Request
from bascule.transports.dispatcher import Dispatcher
from bascule.upstream.heartbeat_policy import Finding, Pulse
from bascule.wire.request_meta import Stamp

Send = Callable[[Request], Awaitable[JsonObject]]


class Heart:
    """The heartbeat of one link, run by the link's owner."""

    def __init__(self, dispatcher: Dispatcher, send: Send, stamp: Stamp, interval: float, stale_after: float) -> None:
        self._dispatcher = dispatcher
        self._send = send
        self._stale_after = stale_after
        # A server of the new era no longer knows `ping`, and answers this from what it holds.
        self._method = "server/discover" if stamp.envelope else "ping"
        self._pulse = Pulse(interval, stale_after)
        self._asking: asyncio.Task[None] | None = None

    async def watch(self, closing: asyncio.Future[str]) -> ConnectionLost | None:
        """Return when the link is lost or to be closed, or with the reason if its silence is its death."""
        loop = asyncio.get_running_loop()
        ends = (self._dispatcher.lost, closing)
        try:
            while True:
                look = self._pulse.look(loop.time(), self._dispatcher.vitals)
                if look.finding is Finding.STALE:
                    return self._stale()
                if look.finding is Finding.SILENT and (self._asking is None or self._asking.done()):
                    self._asking = loop.create_task(self._ask())
                ended, _ = await asyncio.wait(ends, timeout=look.again, return_when=asyncio.FIRST_COMPLETED)
                if ended:
                    return None
        finally:
            if self._asking is not None:
                self._asking.cancel()

    async def _ask(self) -> None:
        """What comes back does not matter: that anything comes is what the next look will see."""
        try:
            await self._send(Request(self._method, None, self._stale_after, phase="heartbeat", cancel_on_abandon=False))
        except PermitLost:
            # It was not asked, so its silence tells nothing.
            self._pulse.skip(asyncio.get_running_loop().time())
        except BasculeError:
            return

    def _stale(self) -> ConnectionLost:
        silent = asyncio.get_running_loop().time() - self._dispatcher.vitals.heard
        return ConnectionLost(
            f"the server has been silent for {silent:.3g} s, and does not answer when it is asked whether it lives",
            evidence=self._dispatcher.evidence(),
            cause="it hangs, it was stopped, or nothing gets through to it any more",
            fix="it is opened again by itself; if it is only slow, raise its `heartbeat.stale_after`",
        )
