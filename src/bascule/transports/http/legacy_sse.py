"""Dispatcher for legacy HTTP+SSE: one SSE stream carries all messages from the server, and each message to it is a
POST. A broken stream cannot be resumed."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from math import inf
from typing import Any

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
from bascule.transports.deadlines import Deadlines
from bascule.transports.dispatcher import not_opened
from bascule.transports.http.endpoint import Endpoint
from bascule.transports.http.errors import failure_of
from bascule.transports.http.post import NOTIFY_TIMEOUT, post
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import MOMENT, Linger, Received
from bascule.transports.http.response_head_cache import WholeReply
from bascule.transports.http.response_parser import kind_of, plain, refusal_of, wrong_kind
from bascule.transports.http.server_stream import Chunks
from bascule.transports.jsonrpc import MessageDispatcher, Pending
from bascule.transports.outbox import Outgoing
from bascule.wire.jsonrpc import Message, sample, write_notification
from bascule.wire.sse import Event, EventReader


class Letter(Exchange):
    """One message on its way. The wait for its reply begins when it is handed over, not when it is queued."""

    __slots__ = ("_keep_reply", "message")

    def __init__(
        self, message: Outgoing, request: Request, connect_timeout: float, keep: tuple[Callable[[float], None], ...]
    ) -> None:
        keep_post, self._keep_reply = keep
        super().__init__(request, None, connect_timeout, keep_post)
        self.message = message

    def claim(self) -> None:
        if self.message.dropped:
            # Whoever asked has stopped waiting before it left.
            self.over = True
        super().claim()
        if not self.message.sent:
            self.message.sent = True
            if isinstance(self.message, Pending):
                self.message.deadline = self.deadline
                self._keep_reply(self.deadline)

    def settle(self, reply: asyncio.Future[Message]) -> None:
        """Nobody waits for the reply any more. Where it came, the POST is about to be answered as well; where not, the
        server has to accept what has left before it can be told that it is not wanted."""
        if not self.handed_over and (reply.cancelled() or reply.exception() is not None):
            self.expire()
        elif not self.over:
            self.move(MOMENT)


class Postbox:
    """Sends messages to one endpoint. A message that is refused fails whoever waits for its reply."""

    paused = False

    def __init__(
        self, endpoint: Endpoint, max_message: int, connect_timeout: float, keep: Callable[[float], None]
    ) -> None:
        self._endpoint = endpoint
        self._max_message = max_message
        self._connect_timeout = connect_timeout
        self._letters: set[Letter] = set()
        self._deadlines = Deadlines(lambda: self._letters)
        self._keep = (self._deadlines.keep, keep)
        self._tasks: dict[Outgoing, asyncio.Task[None]] = {}
        """Each by the message that it delivers."""
        self._linger = Linger()
        self._ended = ""
        self.unasked = 0
        """Messages that were put here, and are not yet accepted, for whose reply nobody waits."""

    def put(self, message: Outgoing) -> None:
        """Send it, in a task of its own."""
        if isinstance(message, Pending):
            message.deadline = inf
            self._own(message, self._deliver(message))
        else:
            self.unasked += 1
            self._own(message, self._deliver_unasked(message))

    def put_after(self, sent: Outgoing, message: Outgoing) -> None:
        """Send it once another one was accepted, or never will be: on connections of their own, it could overtake."""
        self.unasked += 1
        self._own(message, self._deliver_unasked(message, after=self._tasks.get(sent)))

    async def send(self, data: bytes, request: Request) -> None:
        """Send it, and wait until the server has accepted it."""
        await self._post(self._letter(Outgoing(data, request.permit), request))

    def revoke(self, reason: PeerError) -> None:
        """End those on their way whose permit is no longer valid, and what is left of them in any buffer."""
        going_on: list[asyncio.BaseTransport | None] = []
        for letter in tuple(self._letters):
            permit = letter.request.permit
            if permit is None or permit.valid():
                going_on.append(letter.transport)
            else:
                letter.bar(reason)
        self._endpoint.sockets.drop_backlogs(but=going_on)

    def end(self, reason: str) -> None:
        """Nothing more may leave, and what is on its way ends."""
        self._ended = reason
        for letter in tuple(self._letters):
            letter.cut(reason)

    async def close(self) -> None:
        """After the end: wait until nothing is left of it."""
        if self._tasks:
            await asyncio.wait(self._tasks.values())
        self._linger.close()
        self._deadlines.stop()

    def _own(self, message: Outgoing, delivering: Coroutine[Any, Any, None]) -> None:
        self._tasks[message] = task = asyncio.create_task(delivering)
        task.add_done_callback(lambda _: self._tasks.pop(message))

    def _letter(self, message: Outgoing, request: Request) -> Letter:
        return Letter(message, request, self._connect_timeout, self._keep)

    async def _deliver(self, message: Pending) -> None:
        try:
            await self._post(self._letter(message, message.request))
        except (PeerError, PermitLost) as error:
            message.fail(error)

    async def _deliver_unasked(self, message: Outgoing, after: asyncio.Task[None] | None = None) -> None:
        if after is not None:
            await asyncio.wait((after,))
        request = Request("an answer", None, NOTIFY_TIMEOUT, phase="notify", permit=message.permit)
        try:
            with suppress(PeerError, PermitLost):
                await self._post(self._letter(message, request))
        finally:
            self.unasked -= 1

    async def _post(self, letter: Letter) -> None:
        if self._ended:
            raise ConnectionLost(self._ended, sent=False)
        message = letter.message
        if isinstance(message, Pending):
            message.future.add_done_callback(letter.settle)
        self._letters.add(letter)
        try:
            await post(self._endpoint, letter, message.data, self._accepted)
        finally:
            # What was about to leave may have found its connection closed.
            message.sent = letter.handed_over
            self._letters.discard(letter)

    async def _accepted(self, response: Received, letter: Letter) -> None:
        """Most answer 202, some 200; what they say beside it has no meaning."""
        if isinstance(response, WholeReply):
            return
        if response.status < 300:
            self._linger.keep(response)
            return
        error = await refusal_of(response, self._max_message, letter.request.phase)
        if isinstance(error, PeerRefused) and response.status == 404:
            error.cause = "the server no longer knows our event stream: it was restarted, or there are several of it"
            error.fix = "if it runs more than once, see to it that all requests of a client reach the same one"
        raise error


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
