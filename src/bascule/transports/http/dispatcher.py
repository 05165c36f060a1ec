"""Streamable HTTP dispatcher, for both eras. A request is one POST, read in the caller's own task; the response is JSON
or an SSE stream."""

import asyncio
import itertools
import math
from collections.abc import Coroutine, Iterable, Mapping
from contextlib import suppress
from typing import Any

from aiohttp import ClientError
from aiohttp.hdrs import CONTENT_ENCODING

from bascule.core.errors import (
    ConnectFailed,
    ConnectionLost,
    LoginNeeded,
    PeerError,
    PermitLost,
    ProtocolViolation,
    ReplyTimeout,
)
from bascule.core.json_types import JsonObject, is_object
from bascule.core.request import Permit, Request
from bascule.transports.auth_headers import SaysWho
from bascule.transports.deadlines import Deadlines
from bascule.transports.dispatcher import Counters, OnNotice, OnRequest, is_new_era
from bascule.transports.http.endpoint import SESSION_HEADER, VERSION_HEADER, Endpoint
from bascule.transports.http.post import NOTIFY_TIMEOUT, post, tally
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import Linger, Received, Response
from bascule.transports.http.response_head_cache import WholeReply
from bascule.transports.http.response_parser import (
    body_at_hand,
    kind_of,
    plain,
    read_body,
    refusal_of,
    result_of,
    wrong_kind,
)
from bascule.transports.http.response_stream import ReplyStream, answers
from bascule.transports.http.server_messages import Inbound
from bascule.transports.http.server_stream import Answer, ServerStream
from bascule.transports.http.shared_connections import Kin
from bascule.transports.liveness import PATIENT, Vitals
from bascule.transports.progress import ProgressRelay, with_token
from bascule.wire.jsonrpc import Message, read_message, write_notification, write_request
from bascule.wire.sse import EventReader

CANCEL_TIMEOUT = 2.0
"""Seconds for telling a server that we stopped waiting. It is a courtesy, and must not keep a link busy."""

TELLINGS = (0.0, 0.25, 2.0)
"""Seconds before each time that a server is told, where it had not begun to answer. On a connection of its own, what
cancels can come before what it cancels, and is forgotten then; nothing else tells when the server has got both."""

SETTLE_TIMEOUT = 60.0
"""Seconds that a caller may take to hear of progress, once the reply is there, if the request itself has no limit."""

LAST_MOMENT = 0.25
"""Seconds that closing sockets may take after the grace is spent."""


class HttpDispatcher:
    """The conversation with one URL. It is lost when it is closed, or when the server forgets its session."""

    __slots__ = (
        "__weakref__",
        "_closing",
        "_connect_timeout",
        "_deadlines",
        "_endpoint",
        "_ids",
        "_inbound",
        "_last_words",
        "_linger",
        "_listening",
        "_loop",
        "_max_message",
        "_pending",
        "_posts",
        "_tasks",
        "counters",
        "leave",
        "lost",
        "on_notice",
        "on_request",
        "vitals",
    )

    kind = "http"
    carries_headers = True

    def __init__(  # noqa: PLR0913 -- each is of another room
        self,
        url: str,
        headers: Mapping[str, str],
        *,
        max_message: int,
        connect_timeout: float,
        socket: str | None = None,
        login: SaysWho | None = None,
        kin: Kin | None = None,
    ) -> None:
        """With `socket`, a socket file on this machine, everything goes there, and the URL's host is only a name."""
        self._loop = asyncio.get_running_loop()
        self.counters = Counters()
        self.lost: asyncio.Future[PeerError] = self._loop.create_future()
        self.on_notice: OnNotice | None = None
        self.on_request: OnRequest | None = None
        self.leave: Permit | None = None
        self._endpoint = Endpoint(url, headers, socket, login, kin)
        self._inbound = Inbound(self, self.counters, self._post_answer)
        self._linger = Linger()
        self._max_message = max_message
        self._connect_timeout = connect_timeout
        self._ids = itertools.count(1)
        self._pending: dict[int, Exchange] = {}
        self._posts: set[Exchange] = set()
        self._deadlines = Deadlines(self._in_flight)
        self.vitals = Vitals(self._sent_times)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing: asyncio.Task[None] | None = None
        self._listening = False
        self._last_words = ""

    async def open(self) -> None:
        """Check what was configured. Connecting is the first request's."""
        if self.lost.done():
            raise ConnectFailed("the link was closed")
        self._endpoint.open(self._connect_timeout, self.leave)

    async def send(self, request: Request) -> JsonObject:
        request_id = next(self._ids)
        params = request.params
        exchange = Exchange(request, request_id, self._connect_timeout, self._deadlines.keep)
        if exchange.relay is not None:
            self._inbound.relays[request_id] = exchange.relay
            params = with_token(params, request_id)
        self._pending[request_id] = exchange
        try:
            self._check_open()
            data = write_request(request_id, request.method, params)
            if request.tally is not None:
                request.tally.add(len(data))
            return await post(self._endpoint, exchange, data, self._reply)
        except ReplyTimeout:
            self.vitals.gave_up(request, exchange.deadline)
            self._abandon(request_id, exchange)
            raise
        except asyncio.CancelledError:
            self._abandon(request_id, exchange)
            raise
        except LoginNeeded as error:
            if self._endpoint.shut_out:
                self._lose(error, but=exchange)
            raise
        finally:
            del self._pending[request_id]
            if exchange.relay is not None:
                del self._inbound.relays[request_id]
                exchange.relay.stop()

    async def notify(self, method: str, params: JsonObject | None = None, permit: Permit | None = None) -> None:
        version = self._endpoint.version
        headers: dict[str, str] = {}
        if version is not None and is_new_era(version):
            if method == "notifications/cancelled":
                return  # in this era, closing the response says so, and that has happened
            headers[VERSION_HEADER] = version
        request = Request(method, params, NOTIFY_TIMEOUT, phase="notify", permit=permit, headers=headers)
        await self._post(request, write_notification(method, params))

    def adopt(self, version: str) -> None:
        self._endpoint.adopt(version)
        self._inbound.answering = not is_new_era(version)
        if self._endpoint.old_era and not self._listening and not self.lost.done():
            self._listening = True
            self._own(self._listen())

    def lose(self, reason: PeerError) -> None:
        self._lose(reason)

    def revoke(self, reason: PeerError) -> bool:
        """The connection always goes on: each request has a socket of its own, and only theirs are closed."""
        going_on: list[asyncio.BaseTransport | None] = []
        for exchange in tuple(self._in_flight()):
            permit = exchange.request.permit
            if permit is None or permit.valid():
                going_on.append(exchange.transport)
            else:
                self._bar(exchange, reason)
        self._endpoint.sockets.drop_backlogs(but=going_on)
        return True

    def sever(self, reason: PeerError) -> None:
        for exchange in tuple(self._in_flight()):
            self._bar(exchange, reason)
        # Also if the link is lost already: it may be about to say farewell.
        self._endpoint.sockets.sever()
        self._lose(reason)

    async def close(self, grace: float) -> None:
        self._lose(ConnectionLost("the link was closed"))
        # One ending, however many ask for it, and none of them can cut it short.
        if self._closing is None:
            self._closing = self._loop.create_task(self._end(grace))
        await asyncio.shield(self._closing)

    def evidence(self) -> str:
        return self._last_words

    # One exchange, from the write to the reply.

    def _check_open(self) -> None:
        if self.lost.done():
            raise ConnectionLost(self.lost.result().message, sent=False)

    async def _reply(self, received: Received, exchange: Exchange) -> JsonObject:
        self.vitals.hear()
        if isinstance(received, WholeReply):
            self._note_session(received, exchange)
            body = body_at_hand(received, self._max_message)
        else:
            body = await self._json_body(received, exchange)
        if body is not None:
            message = read_message(body)
            if not answers(message, exchange):
                raise self._not_the_answer(message)
        else:
            assert not isinstance(received, WholeReply)
            message, received = await self._follow(received, exchange)
        if exchange.relay is not None:
            exchange.transport = None  # read to the end, so that others may have it by now
            await self._settle_progress(exchange.relay, exchange)
        result = message.result
        return result if is_object(result) else result_of(message, received, exchange.request.phase)

    async def _json_body(self, response: Response, exchange: Exchange) -> bytes | None:
        """The body of a reply in JSON; None where it is among events. Raises what else the response says."""
        if response.status >= 300:
            raise await self._refused(response, exchange)
        if CONTENT_ENCODING in response.headers:
            plain(response)
        self._note_session(response, exchange)
        kind = kind_of(response)
        if kind == "json":
            exchange.seen = "a reply began and did not end"
            return await read_body(response, self._max_message)
        if kind == "events":
            return None
        raise wrong_kind(response)

    def _note_session(self, received: Received, exchange: Exchange) -> None:
        if exchange.request.method == "initialize":
            self._endpoint.keep_session(received.headers.get(SESSION_HEADER))

    async def _follow(self, response: Response, exchange: Exchange) -> tuple[Message, Response]:
        stream = ReplyStream(self._endpoint, exchange, self._take, self._max_message)
        try:
            message, last = await stream.reply(response)
        except ConnectionLost:
            if stream.session_gone:
                self._session_gone(exchange)
            raise
        if last is not response:
            tally(last, exchange)
        self._linger.keep(last)
        return message, last

    async def _refused(self, response: Response, exchange: Exchange) -> PeerError:
        if response.status == 404 and self._endpoint.in_session:
            response.close()
            return self._session_gone(exchange)
        error = await refusal_of(response, self._max_message, exchange.request.phase, self._endpoint.authorization)
        if error.evidence:
            # What an error says already is not said twice.
            self._last_words = "" if isinstance(error, LoginNeeded) else f"HTTP {response.status}: {error.evidence}"
        return error

    async def _accepted(self, received: Received, exchange: Exchange) -> None:
        if isinstance(received, WholeReply):
            return
        if received.status >= 300:
            raise await self._refused(received, exchange)
        self._linger.keep(received)

    def _not_the_answer(self, message: Message) -> ProtocolViolation:
        self.counters.strays += 1
        return ProtocolViolation(
            "the body is not the reply to its request",
            evidence=f"id {message.id!r:.40}, method {message.method!r:.40}",
        )

    # What comes beside replies.

    def _take(self, message: Message, exchange: Exchange) -> None:
        self.vitals.hear()
        request = exchange.request
        self._inbound.take(message, request.permit, exchange.key, request.on_notice)

    async def _settle_progress(self, relay: ProgressRelay, exchange: Exchange) -> None:
        left = min(exchange.left(), SETTLE_TIMEOUT)
        exchange.move(math.inf)  # the reply is here, in time
        await relay.settle(left)
        self.counters.notices_dropped += relay.replaced

    async def _listen(self) -> None:
        def take(message: Message) -> None:
            self.vitals.hear()
            self._inbound.take(message, None)

        stream = ServerStream(self._endpoint.get, take, EventReader(self._max_message), self.counters)
        if await stream.run(in_session=self._endpoint.in_session) is Answer.GONE:
            self._session_gone(None)

    async def _post(self, request: Request, data: bytes) -> None:
        exchange = Exchange(request, None, self._connect_timeout, self._deadlines.keep)
        self._posts.add(exchange)
        try:
            self._check_open()
            await post(self._endpoint, exchange, data, self._accepted)
        finally:
            self._posts.discard(exchange)

    async def _post_answer(self, data: bytes, permit: Permit | None) -> None:
        with suppress(PeerError, PermitLost):
            await self._post(Request("an answer", None, NOTIFY_TIMEOUT, phase="notify", permit=permit), data)

    # The end: of one request, of the session, of the link.

    def _abandon(self, request_id: int, exchange: Exchange) -> None:
        request = exchange.request
        if exchange.handed_over and request.cancel_on_abandon and self._endpoint.old_era and not self.lost.done():
            self._own(self._tell_cancelled(request_id, request.permit, TELLINGS[: 1 if exchange.taken_up else None]))
        self._inbound.forsake(request_id)

    async def _tell_cancelled(self, request_id: int, permit: Permit | None, pauses: tuple[float, ...]) -> None:
        params = {"requestId": request_id, "reason": "the caller stopped waiting"}
        request = Request("notifications/cancelled", params, CANCEL_TIMEOUT, phase="notify", permit=permit)
        # Under the permit of what it cancels: once that is gone, nothing at all may be written there.
        with suppress(PermitLost):
            for pause in pauses:
                await asyncio.sleep(pause)
                with suppress(PeerError):
                    await self._post(request, write_notification(request.method, params))

    def _bar(self, exchange: Exchange, reason: PeerError) -> None:
        exchange.bar(reason)
        if exchange.key is not None:
            self._inbound.forsake(exchange.key)

    def _session_gone(self, exchange: Exchange | None) -> ConnectionLost:
        error = ConnectionLost(
            "the server no longer knows our session",
            sent=False,
            evidence="HTTP 404",
            cause="it was restarted, or its session expired",
        )
        self._endpoint.forget_session()
        self._lose(error, but=exchange)
        return error

    def _lose(self, reason: PeerError, *, but: Exchange | None = None) -> None:
        """No further request can succeed. Those in flight end now; `but` is about to, with an error of its own."""
        if self.lost.done():
            return
        for exchange in tuple(self._in_flight()):
            if exchange is not but:
                exchange.cut(reason.message)
        for task in self._tasks:
            task.cancel()
        # After the cuts: who waits for this must find that the requests have failed.
        self.lost.set_result(reason)

    async def _end(self, grace: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(grace):
                await self._farewell()
        self._linger.close()
        self._deadlines.stop()
        # aiohttp closes its sockets before it waits for anything, so none stays open even if this takes too long.
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_MOMENT):
                await self._endpoint.close()

    async def _farewell(self) -> None:
        await self._inbound.close()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._endpoint.in_session:
            with suppress(ClientError, OSError, PeerError, PermitLost):
                await self._endpoint.delete()

    def _sent_times(self) -> Iterable[float]:
        return (one.since for one in self._pending.values() if one.request.phase not in PATIENT)

    def _in_flight(self) -> Iterable[Exchange]:
        return itertools.chain(self._pending.values(), self._posts)

    def _own(self, coroutine: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
