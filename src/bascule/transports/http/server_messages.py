"""Messages of a server outside of a response: notifications, progress, server requests, and responses to no request."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from bascule.core.errors import BasculeError, PeerRefused, PermitLost
from bascule.core.json_types import JsonObject, as_object
from bascule.core.request import Permit
from bascule.transports.dispatcher import Counters, OnNotice, OnRequest
from bascule.transports.progress import ProgressRelay
from bascule.wire.jsonrpc import Message, RequestId, normal_id, write_error, write_result
from bascule.wire.request_meta import METHOD_NOT_FOUND

INTERNAL_ERROR = -32603

MAX_ANSWERS = 64
"""Requests of the server's that are answered at once. More are dropped: a flood must not become a flood of tasks."""

Reply = Callable[[bytes, Permit | None], Awaitable[None]]
"""Sends an answer back, under its own permit or that of the request on whose stream the question came."""


class Listener(Protocol):
    """Who wants to hear what the server says. That may change at any time."""

    on_notice: OnNotice | None
    on_request: OnRequest | None


class Inbound:
    """The receiving side of one link. It owns the tasks that answer the server's requests."""

    def __init__(self, listener: Listener, counters: Counters, reply: Reply) -> None:
        self.counters = counters
        self.relays: dict[RequestId, ProgressRelay] = {}
        """Who wants to hear of progress, by token."""
        self.answering = True
        """Whether the server may ask us anything. In the new era it may not, and no answer may be posted."""
        self._listener = listener
        self._reply = reply
        self._answers: dict[RequestId, asyncio.Task[None]] = {}
        self._asked_by: dict[RequestId, RequestId] = {}
        """Of a question that came on the stream of a request of ours: which one."""

    def take(
        self,
        message: Message,
        permit: Permit | None,
        during: RequestId | None = None,
        on_notice: OnNotice | None = None,
    ) -> None:
        """Take a message, which came on the stream of one of our requests if `during` names it. What it says there
        unasked is for `on_notice`, if it has one."""
        if message.method is None:
            self.counters.strays += 1
        elif message.id is not None:
            self._answer(message.method, message, permit, during)
        elif message.method == "notifications/progress":
            self._progress(as_object(message.params))
        else:
            self._notice(message.method, as_object(message.params), on_notice)

    async def close(self) -> None:
        tasks = [*self._answers.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def forsake(self, during: RequestId) -> None:
        """Nobody waits for this request of ours any more. What was asked for its sake needs no answer, and the stream
        on which the server could say so is closed."""
        for question, asked_by in self._asked_by.items():
            if asked_by == during:
                self._answers[question].cancel()

    def _progress(self, params: JsonObject) -> None:
        token = normal_id(params.get("progressToken"))
        relay = self.relays.get(token) if token is not None else None
        if relay is None:
            self.counters.notices_dropped += 1
        else:
            relay.offer(params)

    def _notice(self, method: str, params: JsonObject, on_notice: OnNotice | None) -> None:
        if method == "notifications/cancelled":
            self._withdraw(params.get("requestId"))
        on_notice = on_notice or self._listener.on_notice
        if on_notice is None:
            self.counters.notices_dropped += 1
        else:
            on_notice(method, params)

    def _withdraw(self, request_id: Any) -> None:
        """The server no longer wants its answer."""
        task = self._answers.get(request_id) if isinstance(request_id, int | str) else None
        if task is not None:
            task.cancel()

    def _answer(self, method: str, message: Message, permit: Permit | None, during: RequestId | None) -> None:
        request_id = message.id
        if not isinstance(request_id, int | str) or request_id in self._answers:
            self.counters.garbage += 1
            self.counters.last_garbage = f"a request with the id {request_id!r:.40}"
        elif not self.answering or len(self._answers) >= MAX_ANSWERS:
            self.counters.notices_dropped += 1
        else:
            coroutine = self._respond(request_id, method, as_object(message.params), permit)
            self._answers[request_id] = task = asyncio.get_running_loop().create_task(coroutine)
            if during is not None:
                self._asked_by[request_id] = during
            task.add_done_callback(lambda _: self._answered(request_id))

    def _answered(self, request_id: RequestId) -> None:
        del self._answers[request_id]
        self._asked_by.pop(request_id, None)

    async def _respond(self, request_id: RequestId, method: str, params: JsonObject, permit: Permit | None) -> None:
        try:
            data, own = await self._response(request_id, method, params)
        except PermitLost:
            return  # nothing may be written here any more
        await self._reply(data, own or permit)

    async def _response(self, request_id: RequestId, method: str, params: JsonObject) -> tuple[bytes, Permit | None]:
        if method == "ping":
            return write_result(request_id, {}), None
        on_request = self._listener.on_request
        if on_request is None:
            return write_error(request_id, METHOD_NOT_FOUND, f"{method} is not offered by this client"), None
        try:
            response = await on_request(method, params)
        except PermitLost:
            raise
        except PeerRefused as refused:
            return write_error(request_id, refused.rpc_code, refused.message, refused.data), None
        except BasculeError as error:
            return write_error(request_id, INTERNAL_ERROR, error.message), None
        return write_result(request_id, response.result), response.permit
