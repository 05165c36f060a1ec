"""JSON-RPC dispatcher over any ordered message channel: pending requests, their responses and deadlines, and limits on
a misbehaving peer. Subclasses supply the channel, such as lines on pipes or frames on a socket."""

import asyncio
import itertools
import re
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from bascule.core.errors import (
    ConnectFailed,
    ConnectionLost,
    LaneClosed,
    PeerError,
    PeerRefused,
    PermitLost,
    ProtocolViolation,
    ReplyTimeout,
)
from bascule.core.json_types import JsonObject, as_object
from bascule.core.request import Permit, Request
from bascule.transports.deadlines import Deadlines
from bascule.transports.dispatcher import Counters, OnNotice, OnRequest, no_leave
from bascule.transports.liveness import PATIENT, Vitals
from bascule.transports.outbox import Outbox, Outgoing
from bascule.transports.progress import ProgressRelay, with_token
from bascule.wire.framing import as_line, too_long
from bascule.wire.jsonrpc import (
    Message,
    RequestId,
    normal_id,
    read_message,
    sample,
    take_result,
    write_error,
    write_notification,
    write_request,
    write_result,
)
from bascule.wire.request_meta import INTERNAL_ERROR, METHOD_NOT_FOUND, SUBSCRIPTION_KEY


class Pending(Outgoing, eq=False, kw_only=True):
    """A message on its way out that somebody waits for. One object, and in no cycle: every call makes one."""

    request: Request
    future: asyncio.Future[Message]
    deadline: float
    relay: ProgressRelay | None = None

    @classmethod
    def of(cls, request: Request, data: bytes, future: asyncio.Future[Message], deadline: float) -> "Pending":
        if request.on_progress is None:
            return cls(data, request.permit, request=request, future=future, deadline=deadline)
        relay = ProgressRelay(request.on_progress)
        return cls(data, request.permit, request=request, future=future, deadline=deadline, relay=relay)

    @property
    def awaited(self) -> bool:
        """Whether a reply can be meant for it. One that comes before the request has left was guessed, not answered."""
        return self.sent and not self.future.done()

    @property
    def answered(self) -> bool:
        return self.future.done() and not self.future.cancelled() and self.future.exception() is None

    def fail(self, error: Exception) -> None:
        if not self.future.done():
            self.future.set_exception(error)

    def refuse(self) -> None:
        self.fail(PermitLost("the agent session changed before the request was written"))

    def bar(self, reason: PeerError) -> None:
        """End it because its lane is closed. What has not left must stay."""
        self.dropped = not self.sent
        if self.sent:
            self.fail(LaneClosed(reason.message, evidence=reason.evidence, cause=reason.cause, fix=reason.fix))
        else:
            self.refuse()
        if self.relay is not None:
            self.relay.stop()

    def expire(self) -> None:
        request = self.request
        self.fail(
            ReplyTimeout(
                f"no reply to {request.method} within {request.timeout:g} s",
                phase=request.phase,
                timeout=request.timeout,
                fix=f"if the server is only slow, raise its `timeouts.{request.phase}`",
            )
        )


GARBAGE_LIMIT = 100
"""Unreadable messages in a row that end a link. A banner or a stray print is forgiven; a stream of them is not ours."""

SERVER_REQUESTS = 16
"""Requests of the server's that we answer at a time. More are refused: nobody needs them, and each holds a task."""

ANSWERS_WAITING = 1000
"""Answers of ours that may wait while the pipe is full. A server that asks on and on and reads nothing would otherwise
make us hold an answer to each."""

ID_WITHIN = 200
"""Bytes at the start of an unreadable message in which its id is looked for."""

_ID = re.compile(rb'"id"\s*:\s*(\d{1,18})\s*[,}]')


class Outlet(Protocol):
    """Where messages leave, each asked for its permit in the step that hands it over."""

    paused: bool

    def put(self, message: Outgoing) -> None: ...


class MessageDispatcher:
    """One conversation over one connection. Subclasses open and close it, and call `take` and `lose`.

    What goes out is handed to them as lines unless they frame it otherwise, many in one piece: in JSON a line break is
    always escaped.
    """

    kind = "messages"
    carries_headers = False
    garbage_cause = "it does not speak MCP there"
    garbage_fix = "check that this is the address of an MCP server"

    def __init__(self, max_message: int) -> None:
        self._loop = asyncio.get_running_loop()
        self.counters = Counters()
        self.lost: asyncio.Future[PeerError] = self._loop.create_future()
        self.on_notice: OnNotice | None = None
        self.on_request: OnRequest | None = None
        self.leave: Permit | None = None
        self._max_message = max_message
        self._ids = itertools.count(1)
        self._pending: dict[RequestId | None, Pending] = {}
        self._deadlines = Deadlines(self._pending.values)
        self.vitals = Vitals(self._sent_times)
        self._answering: dict[asyncio.Task[None], Any] = {}
        """Each with the id of what it answers."""
        self._answers: deque[Outgoing] = deque()
        self._outbox: Outlet | None = None
        self._frame: Callable[[bytes], bytes] = as_line
        """Puts a message of ours into the bytes that leave."""
        self._garbage_in_a_row = 0

    def connect_output(self, write: Callable[[bytes], None]) -> Outbox:
        """Where the bytes go, once there is such a place."""
        self._outbox = outbox = Outbox(write, self.leave)
        return outbox

    def pause_output(self) -> None:
        """The pipe is full: nothing more is handed over."""
        if isinstance(self._outbox, Outbox):
            self._outbox.pause()

    def resume_output(self) -> None:
        if isinstance(self._outbox, Outbox):
            self._outbox.resume()

    async def send(self, request: Request) -> JsonObject:
        outbox = self._outbox
        if outbox is None or self.lost.done():
            raise self._gone(sent=False)
        request_id = next(self._ids)
        params = request.params if request.on_progress is None else with_token(request.params, request_id)
        data = self._frame(write_request(request_id, request.method, params))
        if request.tally is not None:
            request.tally.add(len(data))
        loop = self._loop
        deadline = loop.time() + request.timeout
        pending = Pending.of(request, data, loop.create_future(), deadline)
        self._pending[request_id] = pending
        self._deadlines.keep(deadline)
        outbox.put(pending)
        try:
            message = await pending.future
            if pending.relay is not None:
                await pending.relay.settle(pending.deadline - loop.time())
        except ReplyTimeout:
            self.vitals.gave_up(request, pending.deadline)
            self._abandon(request_id, pending)
            raise
        except asyncio.CancelledError:
            self._abandon(request_id, pending)
            raise
        finally:
            self._pending.pop(request_id, None)
        return take_result(message, phase=request.phase)

    async def notify(self, method: str, params: JsonObject | None = None, permit: Permit | None = None) -> None:
        if self._outbox is None or self.lost.done():
            raise self._gone(sent=False)
        notice = Outgoing(self._frame(write_notification(method, params)), permit)
        self._outbox.put(notice)
        if notice.dropped:
            raise no_leave(method)

    def adopt(self, version: str) -> None:
        """Such connections behave alike in both eras."""

    def take(self, messages: Iterable[bytes | bytearray]) -> None:
        """Take messages that arrived, each whole and within the cap."""
        self.vitals.hear()
        for data in messages:
            if self.lost.done():
                return
            try:
                message = read_message(data)
            except ProtocolViolation as error:
                self._note_garbage(data, error)
            else:
                self._garbage_in_a_row = 0
                if message.method is None:
                    self._settle(message, len(data))
                else:
                    self._dispatch(message.method, message, len(data))

    def overflow(self) -> None:
        """A message over the cap came. What follows it cannot be trusted."""
        self.lose(too_long(self._max_message))

    def lose(self, reason: PeerError) -> None:
        """No further message will come. Everyone who waits is told now, each whether their request had left."""
        if self.lost.done():
            return
        self.lost.set_result(reason)
        self._deadlines.stop()
        for pending in list(self._pending.values()):
            # What has not left must stay: the peer may still read, and whoever asked is about to ask elsewhere.
            pending.dropped = not pending.sent
            pending.fail(self._gone(sent=pending.sent))
            if pending.relay is not None:
                pending.relay.stop()
        for task in self._answering:
            task.cancel()

    def revoke(self, reason: PeerError) -> bool:
        barred = [one for one in self._pending.values() if one.permit is not None and not one.permit.valid()]
        spoilt = isinstance(self._outbox, Outbox) and self._outbox.spoilt
        halved = (spoilt or any(one.sent for one in barred)) and self._backlog()
        for pending in barred:
            pending.bar(reason)
        if halved:
            self._cut()
            self.lose(reason)
        return not halved

    def sever(self, reason: PeerError) -> None:
        # Before all else, and also if the connection is lost already: it may be about to say farewell.
        self._cut()
        for pending in self._pending.values():
            pending.bar(reason)
        self.lose(reason)

    def _backlog(self) -> bool:
        """Whether bytes that were handed over may still wait in a buffer of ours."""
        return False

    def _cut(self) -> None:
        """Drop whatever has not left, in this step, and let nothing follow it."""
        if isinstance(self._outbox, Outbox):
            self._outbox.clear()

    def _sent_times(self) -> Iterable[float]:
        waiting = self._pending.values()
        return (one.deadline - one.request.timeout for one in waiting if one.request.phase not in PATIENT)

    def _gone(self, *, sent: bool) -> PeerError:
        reason = self.lost.result() if self.lost.done() else ConnectionLost("the link is not open")
        if isinstance(reason, ConnectFailed):
            return reason
        if isinstance(reason, ProtocolViolation):
            violation = ProtocolViolation(reason.message, evidence=reason.evidence, fix=reason.fix)
            violation.sent = sent
            return violation
        return ConnectionLost(reason.message, sent=sent, evidence=reason.evidence, cause=reason.cause, fix=reason.fix)

    def _abandon(self, request_id: int, pending: Pending) -> None:
        if pending.relay is not None:
            pending.relay.stop()
        if pending.answered:
            return
        if not pending.sent:
            pending.dropped = True
        elif pending.request.cancel_on_abandon and self._outbox is not None and not self.lost.done():
            params = {"requestId": request_id, "reason": "the caller stopped waiting"}
            data = self._frame(write_notification("notifications/cancelled", params))
            # Under the permit of what it cancels: once that is gone, nothing at all may be written there.
            self._put_after(pending, Outgoing(data, pending.permit))

    def _put_after(self, _sent: Pending, message: Outgoing) -> None:
        """Send what must not overtake a request that has left. Where messages keep their order, none does."""
        assert self._outbox is not None
        self._outbox.put(message)

    def _note_garbage(self, line: bytes | bytearray, error: ProtocolViolation) -> None:
        self.counters.garbage += 1
        self.counters.last_garbage = sample(line)
        self._garbage_in_a_row += 1
        self._fail_whom_it_names(line, error)
        if self._garbage_in_a_row >= GARBAGE_LIMIT:
            self.lose(
                ProtocolViolation(
                    f"{GARBAGE_LIMIT} messages in a row could not be read ({error.message})",
                    evidence=self.counters.last_garbage,
                    cause=self.garbage_cause,
                    fix=self.garbage_fix,
                )
            )

    def _fail_whom_it_names(self, line: bytes | bytearray, error: ProtocolViolation) -> None:
        """A reply that cannot be read may still show whose it is, and they need not wait for another."""
        named = _ID.search(line, 0, ID_WITHIN)
        pending = self._pending.get(int(named[1])) if named is not None else None
        if pending is not None and pending.awaited:
            pending.fail(ProtocolViolation(error.message, where=pending.request.phase, evidence=error.evidence))

    def _dispatch(self, method: str, message: Message, size: int) -> None:
        if message.id is not None:
            self._answer(message)
        elif method == "notifications/progress":
            self._progress(as_object(message.params), size)
        else:
            self._notice(method, as_object(message.params))

    def _notice(self, method: str, params: JsonObject) -> None:
        if method == "notifications/cancelled":
            self._withdraw(params.get("requestId"))
        on_notice = self._whose(params) or self.on_notice
        if on_notice is not None:
            on_notice(method, params)
        else:
            self.counters.notices_dropped += 1

    def _whose(self, params: JsonObject) -> OnNotice | None:
        """Who takes what belongs to one of our long requests, which it names."""
        named = normal_id(as_object(params.get("_meta")).get(SUBSCRIPTION_KEY))
        pending = self._pending.get(named) if named is not None else None
        return pending.request.on_notice if pending is not None and pending.awaited else None

    def _withdraw(self, request_id: Any) -> None:
        """The server no longer wants its answer: nobody needs to be asked for it any more."""
        for task, answered in self._answering.items():
            if answered == request_id and request_id is not None:
                task.cancel()

    def _settle(self, message: Message, size: int) -> None:
        request_id = message.id if type(message.id) is int else normal_id(message.id)
        pending = self._pending.get(request_id) if request_id is not None else None
        # As in `Pending.awaited`, without the call.
        if pending is None or not pending.sent or pending.future.done():
            self.counters.strays += 1
        else:
            if pending.request.tally is not None:
                pending.request.tally.add(size)
            pending.future.set_result(message)

    def _progress(self, params: JsonObject, size: int) -> None:
        token = normal_id(params.get("progressToken"))
        pending = self._pending.get(token) if token is not None else None
        if pending is None or pending.relay is None or not pending.awaited:
            self.counters.notices_dropped += 1
        else:
            if pending.request.tally is not None:
                pending.request.tally.add(size)
            pending.relay.offer(params)

    def _answer(self, message: Message) -> None:
        """Answer a request of the server's in a task of its own, so that reading goes on."""
        assert message.method is not None
        if message.method == "ping":
            self._reply(write_result(message.id, {}))
        elif self.on_request is None:
            self._reply(write_error(message.id, METHOD_NOT_FOUND, f"{message.method} is not offered by this client"))
        elif len(self._answering) >= SERVER_REQUESTS:
            self._reply(write_error(message.id, INTERNAL_ERROR, f"{SERVER_REQUESTS} requests are being answered"))
        else:
            task = self._loop.create_task(self._answer_in_task(message.id, message.method, as_object(message.params)))
            self._answering[task] = message.id
            task.add_done_callback(self._answering.pop)

    async def _answer_in_task(self, request_id: Any, method: str, params: JsonObject) -> None:
        assert self.on_request is not None
        permit: Permit | None = None
        try:
            response = await self.on_request(method, params)
            answer, permit = write_result(request_id, response.result), response.permit
        except PermitLost:
            return  # nothing may be written here any more
        except PeerRefused as error:
            answer = write_error(request_id, error.rpc_code, error.message, error.data)
        except PeerError as error:
            answer = write_error(request_id, INTERNAL_ERROR, error.message)
        self._reply(answer, permit)

    def _reply(self, data: bytes, permit: Permit | None = None) -> None:
        if self._outbox is None or self.lost.done():
            return
        while self._answers and (self._answers[0].sent or self._answers[0].dropped):
            self._answers.popleft()
        if self._outbox.paused and len(self._answers) >= ANSWERS_WAITING:
            self.lose(ProtocolViolation("the server sends requests and does not read the answers"))
            return
        answer = Outgoing(self._frame(data), permit)
        self._answers.append(answer)
        self._outbox.put(answer)
