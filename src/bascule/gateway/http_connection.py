"""One HTTP connection, bounded where uvicorn leaves it open: how long and how large a head may be, what may follow a
request, and how slowly an answer may be read.

Above: the app. Below: httptools. It is imported when a gateway is served: uvicorn takes half a second.
"""

import asyncio
from enum import Enum
from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from bascule.gateway.hall import Hall
from bascule.gateway.intake import SLOWEST
from bascule.gateway.rejection import INVALID_REQUEST
from bascule.wire.jsonrpc import write_error

HEAD_WITHIN = 10.0
"""Seconds in which the head of a request must have come, from the first byte, or from the opening of the connection."""

BODY_WITHIN = SLOWEST + 5
"""Seconds in which its body must have come. Who reads it gives up first, and says so; this is for when nobody does."""

HEAD_MOST = 64 * 1024
"""Bytes of a head, and of anything else that is neither a head nor a body. Tokens take a few thousand."""

MOST_HEADERS = 128
"""Headers of a request, those after its body included. Browsers send twenty."""

UNWANTED = 1024 * 1024
"""Bytes of a body that are still taken, and thrown away, once its request was answered: a client that is busy sending
reads its answer first. Beyond it the connection is closed."""

READ_WITHIN = 15.0
"""Seconds after which it is looked how much of a long answer was read."""

SLOWEST_READ = READ_WITHIN * 8 * 1024
"""Bytes that must have been read by then, at the least: 8 KiB a second. Who reads none at all only holds our memory."""


class Stage(Enum):
    """What of a request is expected next."""

    NOTHING = 0
    HEAD = 1
    BODY = 2


class Refused(Exception):
    """What comes in is no request that is taken, with the status that says why."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(words)
        self.status = status


class Connection(HttpToolsProtocol):
    """One of them. Requests come one after the other: what is sent before the answer to the last one is not read."""

    def __init__(self, hall: Hall, **given: Any) -> None:
        super().__init__(**given)
        self._hall = hall
        self._stage = Stage.NOTHING
        self._spare = 0
        """Bytes that have come of this request and were no body that anybody reads."""
        self._arrived = 0
        """Bytes that came last, at once: a body may be among them."""
        self._deaf = False
        """Whether nothing that comes is read any more."""
        self._late: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None

    @property
    def holder(self) -> Any:
        return self.scope.get("holder") if self.scope else None  # pyright: ignore[reportUnnecessaryComparison]

    @property
    def _serving(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete  # pyright: ignore[reportUnnecessaryComparison]

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        super().connection_made(transport)
        if self._hall.enter(self):
            self._late = self.loop.call_later(HEAD_WITHIN, self._is_late)
        else:
            self._refuse(503, "too many connections are open; try again in a moment")

    def connection_lost(self, exc: Exception | None) -> None:
        self._deaf = True
        self._hall.leave(self)
        self._be_in_time()
        if self._reading is not None:
            self._reading.cancel()
        # Whatever ended it: a timer of a connection that is lost would keep all of it.
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def hang_up(self) -> None:
        self._deaf = True
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        self._unset_keepalive_if_required()
        assert self.parser is not None
        self._arrived = len(data)
        try:
            self.parser.feed_data(data)
            if self._stage is not Stage.NOTHING:
                self._weigh(len(data))
        except httptools.HttpParserUpgrade:
            # Nothing else is spoken here. The request is answered as one that did not ask.
            self._hear_no_more()
        except (httptools.HttpParserError, Refused) as error:
            self._unreadable(error)
        if self._late is None and (self._stage is Stage.BODY or not self._serving):
            # A part of a body, of a head, or of nothing at all.
            within = BODY_WITHIN if self._serving else HEAD_WITHIN
            self._late = self.loop.call_later(within, self._is_late)

    def on_message_begin(self) -> None:
        if self._serving:
            raise Refused(400, "the answer to the last request comes first")
        self._stage = Stage.HEAD
        self._spare = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._count_headers()
        if self._spare + self._arrived > HEAD_MOST and self._head_size() > HEAD_MOST:
            raise _too_large()
        super().on_headers_complete()
        self._stage = Stage.BODY
        self._be_in_time()
        self._hall.asks(self)

    def _count_headers(self) -> None:
        if len(self.headers) > MOST_HEADERS:
            raise Refused(431, f"a request has at most {MOST_HEADERS} headers")

    def _head_size(self) -> int:
        return len(self.url) + sum(len(name) + len(value) for name, value in self.headers)

    def on_message_complete(self) -> None:
        self._stage = Stage.NOTHING
        self._be_in_time()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._hall.rests(self)
        if self._stage is Stage.BODY:
            # The rest of it is not wanted any more, and not waited for as long.
            self._be_in_time()
            self._late = self.loop.call_later(HEAD_WITHIN, self._is_late)
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        size = self.transport.get_write_buffer_size()
        self._hall.falls_behind(self, size)
        self._reading = self.loop.call_later(READ_WITHIN, self._look_at_reader, size)

    def resume_writing(self) -> None:
        self._hall.catches_up(self)
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None
        super().resume_writing()

    def _look_at_reader(self, before: int) -> None:
        size = self.transport.get_write_buffer_size()
        if before - size < SLOWEST_READ:
            self.hang_up()
        else:
            self._reading = self.loop.call_later(READ_WITHIN, self._look_at_reader, size)

    def _weigh(self, size: int) -> None:
        """Count what has come and is of no use to anybody."""
        self._count_headers()
        if self._stage is Stage.BODY and self._serving:
            if not self.cycle.body:
                # Sizes of chunks, and headers after the body. What is body is weighed by who reads it.
                self._count(size, HEAD_MOST)
        else:
            self._count(size, HEAD_MOST if self._stage is Stage.HEAD else UNWANTED)

    def _count(self, size: int, most: int) -> None:
        self._spare += size
        if self._spare > most:
            raise _too_large()

    def _unreadable(self, error: Exception) -> None:
        # What follows a whole request, which gets its answer; or the rest of a body after the answer was given.
        if self._stage is (Stage.NOTHING if self._serving else Stage.BODY):
            self._hear_no_more()
            return
        refused = error if isinstance(error, Refused) else error.__context__
        if isinstance(refused, Refused):
            self._refuse(refused.status, str(refused))
        else:
            self._refuse(400, "this is no HTTP/1.1")

    def _hear_no_more(self) -> None:
        self._deaf = True
        if self._serving:
            self.cycle.keep_alive = False
        else:
            self.transport.close()

    def _is_late(self) -> None:
        self._late = None
        if self._stage is Stage.HEAD:
            self._refuse(408, f"the head of a request must come within {HEAD_WITHIN:g} seconds")
        elif self._serving and self._stage is Stage.BODY:
            self._refuse(408, f"the body of a request must come within {BODY_WITHIN:g} seconds")
        elif not self._serving:
            self.hang_up()

    def _be_in_time(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _refuse(self, status: int, words: str) -> None:
        """Answer without the app, where nothing of an answer was sent, and hang up."""
        self._deaf = True
        if self._serving and self.cycle.response_started:
            self.hang_up()
            return
        if self._serving:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if not self.transport.is_closing():
            body = write_error(None, INVALID_REQUEST, words)
            head = (
                b"content-type: application/json\r\ncontent-length: %d\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(STATUS_LINE[status] + head % len(body) + body)
            self.transport.close()


def _too_large() -> Refused:
    return Refused(431, f"a head has at most {HEAD_MOST} bytes")
