"""A server behind a URL that speaks HTTP+SSE, as all remote ones did before streamable HTTP.

Above: links. Below: aiohttp. One event stream carries all that the server says, and names the address to which our
messages are posted. What breaks cannot be resumed.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress

from aiohttp import ClientError, ClientResponse

from bascule.core.errors import (
    BasculeError,
    ConnectFailed,
    ConnectionLost,
    PeerError,
    PeerRefused,
    PermitLost,
    ProtocolViolation,
)
from bascule.core.json_types import JsonObject
from bascule.core.request import Permit, Request
from bascule.transports.auth_headers import SaysWho
from bascule.transports.dispatcher import not_opened
from bascule.transports.http.endpoint import Endpoint
from bascule.transports.http.errors import failure_of
from bascule.transports.http.legacy_sse__sse_postbox import Postbox
from bascule.transports.http.post import NOTIFY_TIMEOUT
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response_parser import kind_of, plain, refusal_of, wrong_kind
from bascule.transports.http.server_stream__http_chunks import Chunks
from bascule.transports.jsonrpc import MessageDispatcher
from bascule.transports.jsonrpc__pending import Pending
from bascule.transports.outbox import Outgoing
from bascule.wire.jsonrpc import sample, write_notification
from bascule.wire.sse import Event, EventReader

MOST_UNASKED = 64
"""Answers of ours that may be on their way at once. More are dropped: each is a request, and holds a socket."""

LAST_MOMENT = 0.25
"""Seconds that closing sockets may take after the grace is spent."""


class SseDispatcher(MessageDispatcher):
    """The conversation with one URL. It is lost when its event stream ends."""

    kind = "sse"
    garbage_cause = "events that should hold messages hold something else"
    garbage_fix = "update the server"

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        max_message: int,
        connect_timeout: float,
        login: SaysWho | None = None,
    ) -> None:
        super().__init__(max_message)
        self._endpoint = Endpoint(url, headers, login=login)
        self._max_message = max_message
        self._connect_timeout = connect_timeout
        self._postbox = Postbox(self._endpoint, max_message, connect_timeout, self._deadlines.keep)
        self._reader = EventReader(max_message)
        # An event and a POST each hold one message, as it is.
        self._frame = bytes
        self._located: asyncio.Future[None] = self._loop.create_future()
        """Done once it is known where to post, or that it never will be."""
        self._standing = ""
        """How far connecting has come, if that is where it stopped."""
        self._patience = asyncio.timeout(None)
        self._listening: asyncio.Task[None] | None = None
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Check what was configured, and begin to connect. What is sent waits for the rest: a server that is slow to
        name its endpoint must not hold up the start of others."""
        if self.lost.done():
            raise ConnectFailed("the link was closed")
        self._endpoint.open(self._connect_timeout, self.leave)
        self._outbox = self._postbox
        self._listening = self._loop.create_task(self._listen())

    async def send(self, request: Request) -> JsonObject:
        await self._connected()
        return await super().send(request)

    async def notify(self, method: str, params: JsonObject | None = None, permit: Permit | None = None) -> None:
        """Returns when the server has accepted it: what is posted next could otherwise overtake it."""
        await self._connected()
        if self._outbox is None or self.lost.done():
            raise self._gone(sent=False)
        request = Request(method, params, NOTIFY_TIMEOUT, phase="notify", permit=permit)
        await self._postbox.send(write_notification(method, params), request)

    def lose(self, reason: PeerError) -> None:
        super().lose(reason)
        self._postbox.end(reason.message)
        if not self._located.done():
            self._located.set_result(None)

    def revoke(self, reason: PeerError) -> bool:
        """The connection always goes on: each message has a socket of its own, and only theirs are closed."""
        super().revoke(reason)
        self._postbox.revoke(reason)
        return True

    async def close(self, grace: float) -> None:
        self.lose(ConnectionLost("the link was closed"))
        # One ending, however many ask for it, and none of them can cut it short.
        if self._closing is None:
            self._closing = self._loop.create_task(self._end(grace))
        await asyncio.shield(self._closing)

    def evidence(self) -> str:
        return self._standing

    async def _connected(self) -> None:
        if self._listening is not None and not self._located.done():
            await asyncio.wait((self._located,))

    # The event stream, from which all that the server says is read.

    async def _listen(self) -> None:
        self._patience = asyncio.timeout(self._connect_timeout)
        try:
            async with self._patience:
                reason = await self._read()
        except TimeoutError:
            reason = self._never_located()
        self.lose(reason if self._located.done() else _not_connected(reason, self._endpoint.address))

    async def _read(self) -> PeerError:
        """Read to the end of the stream, and tell why it ended."""
        response: ClientResponse | None = None
        try:
            response = await self._endpoint.stream()
            await self._check(response)
            self._standing = "the server opened an event stream, and has named no endpoint on it"
            chunks = Chunks(response.content)
            while chunk := await chunks.next():
                self._take_events(chunk)
                if self.lost.done():
                    return self.lost.result()
        except PeerError as error:
            return error
        except PermitLost as refused:
            return not_opened(refused)
        except (ClientError, OSError) as error:
            return self._broken(error)
        else:
            return ConnectionLost("the server ended the event stream")
        finally:
            if response is not None:
                response.close()

    async def _check(self, response: ClientResponse) -> None:
        if response.status >= 300:
            raise await refusal_of(response, self._max_message, "connect", self._endpoint.authorization)
        plain(response)
        if kind_of(response) != "events":
            raise wrong_kind(response)

    def _take_events(self, chunk: bytes) -> None:
        for event in self._reader.feed(chunk):
            if self.lost.done():
                return
            self._take_event(event)
        if self._reader.violation is not None:
            raise self._reader.violation

    def _take_event(self, event: Event) -> None:
        if event.name == "endpoint":
            self._locate(event.data)
        elif event.name == "message" and event.data:
            self.take((event.data,))

    def _locate(self, told: bytes | bytearray) -> None:
        self._standing = ""
        if self._located.done():
            raise ProtocolViolation("the server named a second endpoint for one event stream", evidence=sample(told))
        self._endpoint.aim(bytes(told))
        self._patience.reschedule(None)
        self._located.set_result(None)

    def _broken(self, error: ClientError | OSError) -> PeerError:
        if self._located.done():
            evidence = sample(f"{type(error).__name__}: {error}".encode())
            return ConnectionLost("the event stream broke off", evidence=evidence)
        asking = Exchange(Request("GET", None, self._connect_timeout), None, self._connect_timeout, _no_timer)
        failure = failure_of(error, asking, self._endpoint.address)
        return _not_connected(failure, self._endpoint.address)

    def _never_located(self) -> ConnectFailed:
        return ConnectFailed(
            f"{self._endpoint.address} named no endpoint within {self._connect_timeout:g} s",
            where=self._endpoint.address,
            cause="it does not speak HTTP+SSE, whose streams begin with an `endpoint` event, or it is too slow",
            fix=_CHECK_PATH,
        )

    # The way back, and the end.

    def _cut(self) -> None:
        self._endpoint.sockets.sever()
        if self._listening is not None:
            # It may be about to ask for its stream.
            self._listening.cancel()

    def _put_after(self, sent: Pending, message: Outgoing) -> None:
        self._postbox.put_after(sent, message)

    def _reply(self, data: bytes, permit: Permit | None = None) -> None:
        if self._postbox.unasked >= MOST_UNASKED:
            self.counters.notices_dropped += 1
        elif not self.lost.done():
            self._postbox.put(Outgoing(data, permit))

    async def _end(self, grace: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                if self._listening is not None:
                    self._listening.cancel()
                    await asyncio.wait((self._listening,))
                await self._postbox.close()
        # aiohttp closes its sockets before it waits for anything, so none stays open even if this takes too long.
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_MOMENT):
                await self._endpoint.close()


def _no_timer(_deadline: float) -> None:
    """The wait for the stream has a limit of its own."""


def _not_connected(error: BasculeError, where: str) -> ConnectFailed:
    if isinstance(error, ConnectFailed):
        return error
    refused = isinstance(error, PeerRefused)
    return ConnectFailed(
        f"{where} opened no event stream: {error.message}",
        where=where,
        evidence=f"HTTP {error.status}\n{error.evidence}".strip() if refused else error.evidence,
        cause=error.cause,
        fix=_CHECK_PATH if refused else error.fix or _CHECK_PATH,
    )


_CHECK_PATH = "check the path of the URL: many servers have their event stream at /sse"
