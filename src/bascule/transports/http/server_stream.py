"""GET stream of an old-era server for its own messages, kept open with reconnects and backoff. Its chunked reading and
its resumption rules serve the SSE streams of responses too."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import Enum, auto

from aiohttp import ClientError, StreamReader

from bascule.core.errors import ConnectFailed, ConnectionLost, PermitLost, ProtocolViolation
from bascule.transports.dispatcher import Counters
from bascule.transports.http.response import Response
from bascule.transports.http.response_parser import kind_of, plain
from bascule.wire.jsonrpc import Message, read_message, sample
from bascule.wire.sse import Event, EventReader

CHUNK = 32 * 1024
"""Bytes taken at once. Several times as much can have arrived by the time we look, and a server that sends nothing but
the shortest events would keep the loop busy with it for a tenth of a second."""


class Chunks:
    """The body of one response. `next` gives what there is, at most so much, and nothing at the end."""

    __slots__ = ("_at", "_content", "_data")

    def __init__(self, content: StreamReader) -> None:
        self._content = content
        self._data = b""
        self._at = 0

    async def next(self) -> bytes:
        if self._at < len(self._data):
            await asyncio.sleep(0)
        else:
            self._data, self._at = await self._content.readany(), 0
        if len(self._data) <= CHUNK:
            self._at = CHUNK
            return self._data
        start, self._at = self._at, self._at + CHUNK
        return self._data[start : self._at]


FIRST_WAIT = 1.0
"""Seconds before coming back to a stream whose server names no time."""

SHORTEST_WAIT = 0.02
"""A server that says `retry: 0` must not be able to make us spin."""

LONGEST_WAIT = 30.0
"""Nor can one that names a year make us stay away for good."""

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Statuses that may be gone a moment later. 409 is a server that has not yet seen our last stream end."""


def wait_before(retry: float | None, failures: int) -> float:
    """Seconds to stay away: what the server asked for, doubled for each time in a row that nothing came of it."""
    wished = FIRST_WAIT if retry is None else retry
    return min(LONGEST_WAIT, max(SHORTEST_WAIT, wished) * 2.0 ** min(failures, 12))


def message_of(event: Event) -> Message | None:
    """The message in an event. Events of other kinds carry none, nor do those that only bring an id."""
    return read_message(event.data) if event.data and event.name == "message" else None


class Answer(Enum):
    """What a GET for a stream came to."""

    STREAM = auto()
    LATER = auto()
    """Not now."""
    GONE = auto()
    """The session no longer exists."""
    NEVER = auto()


def answer_of(response: Response, *, in_session: bool) -> Answer:
    if response.status == 200 and kind_of(response) == "events":
        return Answer.STREAM
    if response.status == 404 and in_session:
        return Answer.GONE
    return Answer.LATER if response.status in PASSING else Answer.NEVER


class ServerStream:
    """The stream on which a server of the old era speaks unasked, kept open for as long as the link lives."""

    def __init__(
        self,
        get: Callable[[str | None], Awaitable[Response]],
        take: Callable[[Message], None],
        reader: EventReader,
        counters: Counters,
    ) -> None:
        self._get = get
        self._take = take
        self._reader = reader
        self._counters = counters
        self._failures = 0

    async def run(self, *, in_session: bool) -> Answer:
        """Read until the server has no such stream (`NEVER`) or no such session (`GONE`)."""
        while True:
            answer = await self._once(in_session=in_session)
            if answer in {Answer.NEVER, Answer.GONE}:
                return answer
            await asyncio.sleep(wait_before(self._reader.retry, self._failures))
            self._failures += 1

    async def _once(self, *, in_session: bool) -> Answer:
        response: Response | None = None
        try:
            response = await self._get(self._reader.last_id)
            answer = answer_of(response, in_session=in_session)
            if answer is Answer.STREAM:
                await self._read(response)
            return answer  # noqa: TRY300 -- an else would part the answer from its reading
        except (ConnectFailed, ConnectionLost):
            return Answer.NEVER  # our own side is closed
        except (ClientError, OSError, PermitLost):
            return Answer.LATER
        finally:
            if response is not None:
                response.close()

    async def _read(self, response: Response) -> None:
        self._reader.restart()
        chunks = Chunks(response.content)
        try:
            plain(response)
            while chunk := await chunks.next():
                for event in self._reader.feed(chunk):
                    self._failures = 0
                    self._deliver(event)
                if self._reader.violation is not None:
                    raise self._reader.violation
        except ProtocolViolation as violation:
            # What cannot be read would come again if the stream were resumed where it is.
            self._reader.last_id = None
            self._note(violation.evidence)

    def _deliver(self, event: Event) -> None:
        try:
            message = message_of(event)
        except ProtocolViolation:
            self._note(sample(event.data))
        else:
            if message is not None:
                self._take(message)

    def _note(self, garbage: str) -> None:
        self._counters.garbage += 1
        self._counters.last_garbage = garbage
