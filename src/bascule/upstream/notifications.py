"""Notifications of a server on one link: list changes, resource updates and log messages, passed to listeners. The old
era sends them by itself, the new one on one long request."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any, Literal, Protocol, get_args

from bascule.core.errors import PeerError, PeerRefused, PermitLost
from bascule.core.json_types import JsonObject, as_object
from bascule.core.log_listener import Ear
from bascule.core.request import OnNotice, Permit, Request
from bascule.sensitivity.audit_permit import WrittenFirst
from bascule.transports.dispatcher import Dispatcher, is_new_era
from bascule.upstream.key import LinkKey
from bascule.upstream.resource_subscriptions import (
    ACKNOWLEDGED,
    FIRST_WAIT,
    LISTEN,
    LONGEST_WAIT,
    RENEWED,
    UPDATED,
    Following,
)
from bascule.upstream.settings import Agreement
from bascule.wire.request_meta import METHOD_NOT_FOUND


class Hears(Protocol):
    """Somebody who listens on all links. None of these may block."""

    def updated(self, key: LinkKey, uri: str) -> None:
        """The server says that a resource has changed."""
        ...

    def remarked(self, key: LinkKey, params: JsonObject, ear: Ear | None) -> None:
        """The server remarks something: in the course of the request for which somebody listens, if `ear` is given."""
        ...

    def finished(self, key: LinkKey, theirs: str) -> bool:
        """The server says that a person has finished at an address to which it sent them under this id of its own.
        Whether anybody knows of it."""
        ...

    def level(self, key: LinkKey) -> str:
        """The lowest level at which anybody wants to hear remarks on this link. Empty, if nobody has said."""
        ...


class Unheard:
    """Nobody."""

    def updated(self, key: LinkKey, uri: str) -> None: ...

    def remarked(self, key: LinkKey, params: JsonObject, ear: Ear | None) -> None: ...

    def finished(self, key: LinkKey, theirs: str) -> bool:  # noqa: ARG002
        return False

    def level(self, key: LinkKey) -> str:  # noqa: ARG002
        return ""


UNHEARD: Hears = Unheard()

Kind = Literal["tools", "resources", "prompts"]
"""What a server lists, and says has changed."""

REMARK = "notifications/message"
FINISHED = "notifications/elicitation/complete"
SET_LEVEL = "logging/setLevel"
SUBSCRIBE = "resources/subscribe"
UNSUBSCRIBE = "resources/unsubscribe"
SUBSCRIBING = frozenset({SUBSCRIBE, UNSUBSCRIBE})
KINDS: tuple[Kind, ...] = get_args(Kind)
CHANGES: Mapping[str, Kind] = {f"notifications/{kind}/list_changed": kind for kind in KINDS}

PATIENCE = 1.0
"""Seconds that a link being opened waits for the server to say that it will tell. What changes between a listing and
that moment would be missed; a server that takes longer is listed, and once more when it says so at last."""

SETTING = 5.0
"""Seconds that a server may take to say that it has understood how much it may remark."""


class Tidings:
    """The ears of one link. At most one task, and only in the new era, at a server that promises to tell."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        send: Callable[[Request], Awaitable[JsonObject]],
        agreement: Agreement,
        tell: Callable[[Kind], None],
        key: LinkKey,
        hears: Hears,
    ) -> None:
        self._dispatcher = dispatcher
        self._send = send
        self._tell = tell
        self._key = key
        self._hears = hears
        self._new = is_new_era(agreement.version)
        self._promised = promised(agreement.capabilities) if self._new else ()
        self._level: str | None = "" if "logging" in agreement.capabilities and not self._new else None
        """What the server was last asked for. None where it cannot be asked."""
        self._followings: dict[Permit | None, Following] = {}
        self._first: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._begun = False
        self._unacknowledged = False
        self._listening: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Listen from here on. Returns once the server does so too, or after a moment."""
        self._dispatcher.on_notice = self._hear
        await self.tune()
        if self._promised:
            self._listening = asyncio.create_task(self._listen())
            await asyncio.wait((self._listening, self._first), timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        self._begun = True

    async def end(self) -> None:
        self._dispatcher.on_notice = None
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.wait((self._listening,))
        await asyncio.gather(*(following.end() for following in self._followings.values()))

    async def tune(self) -> None:
        """Ask a server of the old era for as much as is wanted. One of the new era hears it with each request."""
        if self._level is None:
            return
        level = self._hears.level(self._key)
        if level not in {"", self._level}:
            self._level = level
            with suppress(PeerError, PermitLost):
                await self._send(Request(SET_LEVEL, {"level": level}, SETTING))

    def heard_by(self, ear: Ear) -> OnNotice:
        """Takes what comes on the stream of a request for which somebody listens."""
        return partial(self._hear, ear=ear)

    async def subscribe(self, request: Request) -> JsonObject:
        """Do, in the new era, what the old era has two requests for."""
        permit = request.permit.permit if isinstance(request.permit, WrittenFirst) else request.permit
        uri = str((request.params or {}).get("uri"))
        following = self._followings.get(permit)
        if request.method == UNSUBSCRIBE:
            if following is not None:
                following.remove(uri)
        else:
            if following is None:
                for idle in [known for known, each in self._followings.items() if each.idle]:
                    del self._followings[idle]
                tell = partial(self._hears.updated, self._key)
                following = Following(self._send, request.permit, tell, self._hear)
                self._followings[permit] = following
            await following.add(uri, request.timeout)
        return {}

    def _hear(self, method: str, params: JsonObject, ear: Ear | None = None) -> None:
        """Take a notice. Which request it names, in the new era, does not matter: there is but one, and whatever a
        server says has changed is only ever a reason to look."""
        kind = CHANGES.get(method)
        if kind is not None:
            self._tell(kind)
        elif method == REMARK:
            self._hears.remarked(self._key, params, ear)
        elif method == UPDATED and isinstance(uri := params.get("uri"), str):
            self._hears.updated(self._key, uri)
        elif method == ACKNOWLEDGED and self._unacknowledged:
            self._unacknowledged = False
            self._acknowledged()
        elif method != FINISHED or not self._finished(params.get("elicitationId")):
            self._dispatcher.counters.notices_dropped += 1

    def _finished(self, theirs: object) -> bool:
        return isinstance(theirs, str) and self._hears.finished(self._key, theirs)

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
