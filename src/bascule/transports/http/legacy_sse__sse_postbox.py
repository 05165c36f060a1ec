"""How messages leave over HTTP+SSE: each by a POST of its own, whose reply comes by another way."""

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from math import inf
from typing import Any

from bascule.core.errors import ConnectionLost, PeerError, PeerRefused, PermitLost
from bascule.core.request import Request
from bascule.transports.deadlines import Deadlines
from bascule.transports.http.endpoint import Endpoint
from bascule.transports.http.post import NOTIFY_TIMEOUT, post
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import Received
from bascule.transports.http.response__http_linger import MOMENT, Linger
from bascule.transports.http.response_head_cache import WholeReply
from bascule.transports.http.response_parser import refusal_of
from bascule.transports.jsonrpc__pending import Pending
from bascule.transports.outbox import Outgoing
from bascule.wire.jsonrpc import Message


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
