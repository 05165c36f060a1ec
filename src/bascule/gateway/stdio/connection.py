"""JSON-RPC connection with one client over a byte stream: serves its requests concurrently, with back-pressure on
waiting requests and unread answers."""

import asyncio
import itertools
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, Protocol

import msgspec

from bascule.core.json_types import JsonObject, as_object
from bascule.gateway.errors import INVALID_REQUEST, Rejected, unforeseen
from bascule.gateway.mcp.client import Client
from bascule.gateway.mcp.elicitation import Ask, NotAnswered, answered, taken_back
from bascule.gateway.mcp.envelope import Asked, check_new, check_shape, read_body
from bascule.gateway.mcp.notifications import Tell
from bascule.runtime.server_requests.roots import ROOTS_CHANGED
from bascule.transports.outbox import Outbox, Outgoing
from bascule.wire.framing import LongLines, TooLong, as_line
from bascule.wire.jsonrpc import Message, write_notification, write_request, write_result
from bascule.wire.request_meta import CAPABILITIES_KEY, INTERNAL_ERROR

_log = logging.getLogger("bascule.gateway")


class Line(Protocol):
    """The connection, as far as a request needs it."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """What a client of the old era said that it can be asked."""
        ...

    def tell(self, method: str, params: JsonObject) -> Awaitable[None]: ...

    def ask(self, method: str, params: JsonObject) -> Awaitable[Any]: ...

    def send_away(self, server: str, theirs: str) -> str: ...

    def put_aside(self, turn: "Turn", result: JsonObject) -> Awaitable[None]: ...

    def take_back(self, turn: "Turn") -> None: ...


class Turn:
    """One request in flight on a connection that carries many, and its client as far as that request goes."""

    streams = True

    def __init__(self, line: Line, key: Any, asked: Asked) -> None:
        self._line = line
        self.key = key
        """Under which the connection finds it."""
        self.asked = asked
        self.answered = False
        self.level = ""
        """From which level on its client hears what servers remark in its course."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        """Each request of the new era says it; the old one said it when it introduced itself."""
        return as_object(self.asked.meta.get(CAPABILITIES_KEY)) if self.asked.new else self._line.capabilities

    async def tell(self, method: str, params: JsonObject) -> None:
        await self._line.tell(method, params)

    async def ask(self, method: str, params: JsonObject) -> Any:
        if self.asked.new:
            raise NotAnswered("clients of the new era are asked by answers to their requests")
        return await self._line.ask(method, params)

    def send_away(self, server: str, theirs: str) -> str:
        return self._line.send_away(server, theirs)

    async def let_go(self, result: JsonObject) -> None:
        self.answered = True
        await self._line.put_aside(self, result)

    def give_up(self) -> None:
        self._line.take_back(self)


UNDER_WAY = 256
"""Requests that are served at once. More wait for their turn; each may hold an answer that nobody reads yet."""

WAITING = 8 * 1024 * 1024
"""Bytes of requests that wait for their turn before no more is read."""

OVERHEAD = 512
"""Bytes that a request holds beside its own."""


class Attends(Protocol):
    """Who serves the client."""

    @property
    def capabilities(self) -> Mapping[str, Any]: ...

    def level(self, asked: Asked) -> str: ...

    async def serve(self, asked: Asked, client: Client) -> JsonObject | msgspec.Raw:
        """The result. Raises `Rejected`."""
        ...

    def send_away(self, server: str, theirs: str) -> str: ...

    def begin_telling(self, tell: Tell, ask: Ask) -> None: ...

    def roots_changed(self) -> None: ...

    def end_streams(self) -> None: ...


class Source(Protocol):
    """Where the bytes come from, as the loop's transports are."""

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Due(msgspec.Struct, frozen=True):
    """Something that is to be answered, or is to be told why it is not served."""

    id: Any
    size: int
    asked: Asked | None = None
    rejected: Rejected | None = None


class Connection:
    """The conversation with one client, who may be of either era, from the first byte to the last."""

    def __init__(self, attends: Attends, max_message: int) -> None:
        self._attends = attends
        self._max_message = max_message
        self._lines = LongLines(max_message)
        self._source: Source | None = None
        self._outbox: Outbox | None = None
        self._waiting: OrderedDict[Any, Due] = OrderedDict()
        """By the ids that the client gave them."""
        self._size = 0
        """Bytes of those that wait."""
        self._full = False
        """Whether no more is read, until fewer wait."""
        self._running: dict[Any, asyncio.Task[None]] = {}
        self._aside: dict[Any, asyncio.Task[None]] = {}
        """Those that go on although they were answered: their client is away to find out what it was asked."""
        self._asked: dict[str, asyncio.Future[Message]] = {}
        """What the client was asked, by the ids that we gave."""
        self._numbers = itertools.count(1)
        self._ending = self._over = False
        self._flowing = asyncio.Event()
        """Whether the client reads what it is sent."""
        self._idle = asyncio.Event()
        self._idle.set()
        self.gone: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Done once nothing can be said to the client any more."""

    @property
    def capabilities(self) -> Mapping[str, Any]:
        return self._attends.capabilities

    # What comes in

    def read_from(self, source: Source) -> None:
        self._source = source

    def feed(self, data: bytes) -> None:
        for line in self._lines.feed(data):
            if not self._over:
                self._take(line)
        self._go_on()

    def _take(self, line: bytes | TooLong) -> None:
        if isinstance(line, TooLong):
            words = f"a message may have {self._max_message} bytes, and this one has more"
            return self._owe(Due(line.id, 0, rejected=Rejected(INVALID_REQUEST, words)))
        try:
            message = read_body(line)
        except Rejected as rejected:
            return self._owe(Due(None, len(line), rejected=rejected))
        if _is_reply(message):
            return self._take_answer(message)
        try:
            asked = _checked(message)
        except Rejected as rejected:
            # A notification is not answered, however wrong it is.
            if message.id is not None or message.method is None:
                self._owe(Due(_plain(message.id), len(line), rejected=rejected))
            return None
        return self._note(asked) if asked.id is None else self._owe(Due(asked.id, len(line), asked))

    def _take_answer(self, message: Message) -> None:
        """What it was not asked is let be."""
        answer = self._asked.get(str(message.id))
        if answer is not None and not answer.done():
            answer.set_result(message)

    def _owe(self, due: Due) -> None:
        if self._ending and due.asked is not None:
            due = Due(due.id, 0, rejected=Rejected(INTERNAL_ERROR, "the gateway is about to end"))
        elif due.id is not None and (due.id in self._running or due.id in self._waiting):
            # Under that id, it would be taken for the answer to the other.
            due = Due(None, 0, rejected=Rejected(INVALID_REQUEST, f"the id {due.id!r:.100} is in use"))
        # What has no id is nobody's, and cannot be taken back.
        self._waiting[object() if due.id is None else due.id] = due
        self._size += due.size + OVERHEAD
        self._idle.clear()

    def _note(self, asked: Asked) -> None:
        """A notification. Three say something that matters here: that an answer is no longer wanted, that a client of
        the old era is ready to hear of what happens between its requests, and that it has other roots."""
        if asked.method == "notifications/initialized":
            return self._attends.begin_telling(self.tell, self.ask)
        if asked.method == ROOTS_CHANGED:
            return self._attends.roots_changed()
        unwanted = _plain(asked.params.get("requestId"))
        if asked.method != "notifications/cancelled" or unwanted is None:
            return None
        if unwanted in self._running:
            self._running[unwanted].cancel()
        elif unwanted in self._waiting:
            self._size -= self._waiting.pop(unwanted).size + OVERHEAD
        return None

    def _go_on(self) -> None:
        """Begin what can be begun, and read no more than can wait."""
        while self._waiting and len(self._running) < UNDER_WAY and self._flowing.is_set():
            key, due = self._waiting.popitem(last=False)
            self._size -= due.size + OVERHEAD
            turn = None if due.asked is None else Turn(self, key, due.asked)
            self._running[key] = task = asyncio.create_task(self._serve(due, turn))
            task.add_done_callback(partial(self._served, key, turn))
        if not self._waiting and not self._running:
            self._idle.set()
        if self._source is None:
            return
        if not self._full and self._size > WAITING:
            self._full = True
            self._source.pause_reading()
        elif self._full and self._size <= WAITING // 2:
            self._full = False
            self._source.resume_reading()

    async def _serve(self, due: Due, turn: Turn | None) -> None:
        try:
            if turn is None:
                assert due.rejected is not None
                raise due.rejected
            turn.level = self._attends.level(turn.asked)
            answer = write_result(due.id, await self._attends.serve(turn.asked, turn))
        except Rejected as rejected:
            answer = rejected.body(due.id)
        if turn is None or not turn.answered:
            await self._say(answer)

    def _served(self, key: Any, turn: Turn | None, task: asyncio.Task[None]) -> None:
        if turn is not None and turn.answered:
            self._aside.pop(turn.key, None)
        else:
            del self._running[key]
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a request could not be answered", exc_info=error)
            if turn is None or not turn.answered:
                self._put(unforeseen(_plain(key)))
        self._go_on()

    # What a request needs

    async def tell(self, method: str, params: JsonObject) -> None:
        """Waits for a client that reads slowly."""
        await self._say(write_notification(method, params))

    async def ask(self, method: str, params: JsonObject) -> Any:
        """A request of ours to a client of the old era. Raises `NotAnswered`."""
        name = f"bascule-{next(self._numbers)}"
        self._asked[name] = answer = asyncio.get_running_loop().create_future()
        try:
            await self._say(write_request(name, method, params))
            return answered(await answer)
        except asyncio.CancelledError:
            # It is of no use any more, so nobody needs to think about it.
            self._put(write_notification("notifications/cancelled", taken_back(name)))
            raise
        finally:
            del self._asked[name]

    def send_away(self, server: str, theirs: str) -> str:
        return self._attends.send_away(server, theirs)

    async def put_aside(self, turn: Turn, result: JsonObject) -> None:
        """Answer a request that goes on. Its id is free then, and its client need not wait for its end."""
        answered, task = turn.key, self._running.pop(turn.key)
        turn.key = object()
        self._aside[turn.key] = task
        await self._say(write_result(_plain(answered), result))
        self._go_on()

    def take_back(self, turn: Turn) -> None:
        task = self._aside.get(turn.key) or self._running.get(turn.key)
        if task is not None:
            task.cancel()

    # What goes out

    def write_to(self, write: Callable[[bytes], None]) -> None:
        self._outbox = Outbox(write)
        self._flowing.set()

    def pause_output(self) -> None:
        assert self._outbox is not None
        self._outbox.pause()
        self._flowing.clear()

    def resume_output(self) -> None:
        assert self._outbox is not None
        self._outbox.resume()
        if not self._outbox.paused:
            self._flowing.set()
            self._go_on()

    def lose_output(self) -> None:
        """The client reads no more. What was asked for is for nobody."""
        if not self.gone.done():
            self.gone.set_result(None)
        self._outbox = None
        self.give_up()

    async def _say(self, message: bytes) -> None:
        # Those who waited all wake at once, and the first of them may fill the pipe again.
        while not self._flowing.is_set():
            await self._flowing.wait()
        self._put(message)

    def _put(self, message: bytes) -> None:
        if self._outbox is not None:
            self._outbox.put(Outgoing(as_line(message)))

    # Its end

    async def finish(self, seconds: float) -> None:
        """Begin nothing new, and wait so long at most for what is under way; what is not answered by then is taken
        back."""
        self._ending = True
        self._attends.end_streams()
        try:
            async with asyncio.timeout(seconds):
                await self._idle.wait()
        except TimeoutError:
            self.give_up()
            await self._idle.wait()
        for task in self._aside.values():
            task.cancel()
        await asyncio.gather(*self._aside.values(), return_exceptions=True)

    def give_up(self) -> None:
        """Take back everything that is under way, and take nothing more."""
        self._ending = self._over = True
        self._waiting.clear()
        self._size = 0
        for task in (*self._running.values(), *self._aside.values()):
            task.cancel()
        self._go_on()


def _checked(message: Message) -> Asked:
    asked = check_shape(message, None)
    if asked.new and asked.id is not None:
        check_new(asked, None)
    return asked


def _is_reply(message: Message) -> bool:
    said = message.result is not msgspec.UNSET or message.error is not msgspec.UNSET
    return said and message.method is None


def _plain(request_id: Any) -> str | int | None:
    """An id as it may be; anything else is none."""
    return request_id if isinstance(request_id, str | int) and not isinstance(request_id, bool) else None
