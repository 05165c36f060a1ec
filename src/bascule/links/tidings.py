"""What a link hears of changes at its server: notices of the old era, and one long request for them in the new one."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal, get_args

from bascule.core.errors import PeerError, PeerRefused, PermitLost
from bascule.core.jsonvalue import JsonObject, as_object
from bascule.core.request import Request
from bascule.links.terms import Agreement
from bascule.transports.dispatcher import Dispatcher, is_new_era
from bascule.wire.stamp import METHOD_NOT_FOUND

Kind = Literal["tools", "resources", "prompts"]
"""What a server lists, and says has changed."""

LISTEN = "subscriptions/listen"
REMARK = "notifications/message"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
KINDS: tuple[Kind, ...] = get_args(Kind)
CHANGES: Mapping[str, Kind] = {f"notifications/{kind}/list_changed": kind for kind in KINDS}

PATIENCE = 1.0
"""Seconds that a link being opened waits for the server to say that it will tell. What changes between a listing and
that moment would be missed; a server that takes longer is listed, and once more when it says so at last."""

RENEWED = 900.0
"""Seconds after which the long request is made anew. A connection can die without a word, and nobody would notice."""

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds before asking again a server that has ended the long request. They double, and begin anew after one that has
lasted longer than that: a server that ends it at once, again and again, is asked once a minute."""


class Tidings:
    """The ears of one link. At most one task, and only in the new era, at a server that promises to tell."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        send: Callable[[Request], Awaitable[JsonObject]],
        agreement: Agreement,
        tell: Callable[[Kind], None],
        remark: Callable[[JsonObject], None],
    ) -> None:
        self._dispatcher = dispatcher
        self._send = send
        self._tell = tell
        self._remark = remark
        self._promised = promised(agreement.capabilities) if is_new_era(agreement.version) else ()
        self._first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._begun = False
        self._unacknowledged = False
        self._listening: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Listen from here on. Returns once the server does so too, or after a moment."""
        self._dispatcher.on_notice = self._hear
        if self._promised:
            self._listening = asyncio.create_task(self._listen())
            await asyncio.wait((self._listening, self._first), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        self._begun = True

    async def end(self) -> None:
        self._dispatcher.on_notice = None
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait((self._listening,))

    def _hear(self, method: str, params: JsonObject) -> None:
        """Take a notice. Which request it names, in the new era, does not matter: there is but one, and whatever a
        server says has changed is only ever a reason to look."""
        kind = CHANGES.get(method)
        if kind is not None:
            self._tell(kind)
        elif method == REMARK:
            self._remark(params)
        elif method == ACKNOWLEDGED and self._unacknowledged:
            self._unacknowledged = False
            self._acknowledged()
        else:
            self._dispatcher.counters.notices_dropped += 1

    def _acknowledged(self) -> None:
        if not self._begun:
            self._first.set_result(None)
            return
        # Nothing is told of what changed while nobody listened.
        for kind in self._promised:
            self._tell(kind)

    async def _listen(self) -> None:
        now = asyncio.get_running_loop().time
        wait = FIRST_WAIT
        while True:
            began = now()
            self._unacknowledged = True
            try:
                await self._send(self._request())
            except PeerRefused as refused:
                if refused.rpc_code == METHOD_NOT_FOUND:
                    return
            except (PeerError, PermitLost):
                if self._dispatcher.lost.done():
                    return
            if now() - began > LONGEST_WAIT:
                wait = FIRST_WAIT
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    def _request(self) -> Request:
        wanted = {f"{kind}ListChanged": True for kind in self._promised}
        return Request(LISTEN, {"notifications": wanted}, RENEWED, phase="listen")


def promised(capabilities: Mapping[str, Any]) -> tuple[Kind, ...]:
    """What the server says it will tell of."""
    return tuple(kind for kind in KINDS if as_object(capabilities.get(kind)).get("listChanged") is True)
