"""Notification streams: the `subscriptions/listen` request of the new era, and the SSE stream (GET) of an old-era
session. Limits the open streams, per principal and in total."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, cast

import msgspec

from bascule.core.json_types import JsonObject, is_array, is_object
from bascule.core.principal import Principal
from bascule.gateway.errors import INVALID_REQUEST, Rejected
from bascule.gateway.http.disconnect import Attention, Receive
from bascule.gateway.http.sse import COMMENT, EVENT_HEADERS, Send, Steady, event
from bascule.gateway.mcp.client import Client
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.notifications import Outlet, Tell
from bascule.gateway.mcp.sessions import OldSession, Say
from bascule.runtime.session import AgentSession
from bascule.upstream.notifications import KINDS, Kind
from bascule.upstream.resource_subscriptions import ACKNOWLEDGED, LISTEN
from bascule.wire.jsonrpc import write_notification
from bascule.wire.request_meta import INTERNAL_ERROR, INVALID_PARAMS, SUBSCRIPTION_KEY

MOST_OF_ONE = 32
"""Streams that one principal may have at once. A client needs one, and each holds a connection."""

MOST = 5000
"""Streams of all principals together."""

Lasts = Callable[[], Awaitable[None]]
"""Returns once whoever listens may no longer do so."""


class Streams:
    """All streams that are open."""

    def __init__(self) -> None:
        self._open: dict[Callable[[], None], None] = {}
        self._of = Counter[Principal]()
        self._closing = False

    def __len__(self) -> int:
        return len(self._open)

    @asynccontextmanager
    async def place(self, principal: Principal, end: Callable[[], None], lasts: Lasts | None) -> AsyncGenerator[None]:
        """A place for a stream that `end` ends, which is done when `lasts` returns, or all of them have to end. Raises
        `Rejected` where there is none."""
        self._check(principal)
        self._open[end] = None
        self._of[principal] += 1
        lasting = asyncio.ensure_future(_after(lasts, end)) if lasts is not None else None
        try:
            yield
        finally:
            if lasting is not None:
                lasting.cancel()
            del self._open[end]
            self._of[principal] -= 1
            if not self._of[principal]:
                del self._of[principal]

    def close(self) -> None:
        """End all of them, and begin no other."""
        self._closing = True
        for end in tuple(self._open):
            end()

    def _check(self, principal: Principal) -> None:
        if self._closing:
            raise Rejected(INTERNAL_ERROR, "the gateway is about to stop", status=503)
        if self._of[principal] >= MOST_OF_ONE or len(self._open) >= MOST:
            raise Rejected(INTERNAL_ERROR, "there are too many streams; close one first", status=429)


async def _after(lasts: Lasts, end: Callable[[], None]) -> None:
    await lasts()
    end()


MOST_RESOURCES = 256
"""Resources to which one client may be subscribed."""

AT_ONCE = 8
"""Resources of one request that are subscribed to at the same time."""

PATIENCE = 20.0
"""Seconds after which a client is told which of its subscriptions stand. A server that is slower is not among them."""


class Wanted(msgspec.Struct, frozen=True):
    """What a client of the new era wants to hear of."""

    kinds: tuple[Kind, ...]
    resources: tuple[str, ...]

    def honored(self, resources: tuple[str, ...]) -> JsonObject:
        """What it is told that it will hear of."""
        kept: JsonObject = {f"{kind}ListChanged": True for kind in self.kinds}
        return {**kept, "resourceSubscriptions": [*resources]} if resources else kept


class Listening:
    """Serves the one request by which a client of the new era listens."""

    def __init__(self, session: AgentSession, streams: Streams, lasts: Lasts | None = None) -> None:
        self._session = session
        self._streams = streams
        self._lasts = lasts

    async def serve(self, asked: Asked, client: Client | None = None) -> JsonObject:
        """The result, once it is over. Raises `Rejected`."""
        if client is None or not client.streams:
            raise Rejected(INVALID_REQUEST, f"{LISTEN} is answered with text/event-stream", status=406)
        wanted = read_wanted(asked.params)
        outlet = Outlet(kinds=wanted.kinds, subscription=asked.id)
        meta: JsonObject = {SUBSCRIPTION_KEY: asked.id}
        async with self._streams.place(self._session.principal, outlet.close, self._lasts):
            self._session.listen(outlet)
            try:
                kept = await self._subscribe(wanted.resources, outlet)
                await client.tell(ACKNOWLEDGED, {"notifications": wanted.honored(kept), "_meta": meta})
                await outlet.deliver(client.tell)
            finally:
                leave(self._session, outlet, wanted.resources)
        return {"_meta": meta, "resultType": "complete"}

    async def _subscribe(self, resources: tuple[str, ...], outlet: Outlet) -> tuple[str, ...]:
        """Which of them the client will hear of: what may not be read, or tells of nothing, is not among them."""
        kept = dict.fromkeys(resources, False)
        turn = asyncio.Semaphore(AT_ONCE)

        async def subscribe(uri: str) -> None:
            async with turn:
                kept[uri] = await self._session.subscribe(uri, outlet) is None

        with suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                for uri in resources:
                    group.create_task(subscribe(uri))
        return tuple(uri for uri, agreed in kept.items() if agreed)


def leave(session: AgentSession, outlet: Outlet, resources: tuple[str, ...]) -> None:
    """A client listens no more."""
    outlet.close()
    session.leave(outlet)
    for uri in resources:
        session.unsubscribe(uri, outlet)


def read_wanted(params: JsonObject) -> Wanted:
    """Raises `Rejected` for what is no filter. What is not known of it is left out of what is acknowledged."""
    said = params.get("notifications")
    if not is_object(said):
        raise Rejected(INVALID_PARAMS, "notifications must be an object")
    resources: Any = said.get("resourceSubscriptions") or []
    if not is_array(resources) or not all(isinstance(uri, str) for uri in resources):
        raise Rejected(INVALID_PARAMS, "resourceSubscriptions must be a list of texts")
    unique = tuple(dict.fromkeys(cast("list[str]", resources)))
    if len(unique) > MOST_RESOURCES:
        raise Rejected(INVALID_PARAMS, f"one request may name {MOST_RESOURCES} resources")
    return Wanted(tuple(kind for kind in KINDS if said.get(f"{kind}ListChanged") is True), unique)


class SessionStream:
    """The stream on which a session of the old era is told of news. There is one at a time."""

    def __init__(self, streams: Streams, session: OldSession, lasts: Lasts | None = None) -> None:
        self._streams = streams
        self._session = session
        self._outlet = session.outlet
        self._lasts = lasts

    async def serve(self, session: AgentSession, receive: Receive, send: Send) -> None:
        """Until the client hangs up, or it has to end. Raises `Rejected` where it cannot begin."""
        if self._outlet.closed:
            raise Rejected(INVALID_REQUEST, "there is no such session; begin a new one", status=404)
        if self._outlet.delivering:
            raise Rejected(INVALID_REQUEST, "this session has a stream already", status=409)
        attention = Attention(receive)
        async with self._streams.place(session.principal, attention.give_up, self._lasts):
            steady = Steady(send)
            try:
                with attention:
                    await steady({"type": "http.response.start", "status": 200, "headers": EVENT_HEADERS})
                    # The head alone would wait in some proxies for the first that follows it.
                    await steady({"type": "http.response.body", "body": COMMENT, "more_body": True})
                    await self._outlet.deliver(_telling(steady), partial(self._session.ask, _saying(steady)))
                await steady({"type": "http.response.body", "body": b""})
            finally:
                steady.stop()


def _saying(send: Steady) -> Say:
    async def say(message: bytes) -> None:
        await send({"type": "http.response.body", "body": event(message), "more_body": True})

    return say


def _telling(send: Steady) -> Tell:
    say = _saying(send)

    async def tell(method: str, params: JsonObject) -> None:
        await say(write_notification(method, params))

    return tell
