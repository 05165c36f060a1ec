"""One HTTP request as an ASGI app sees it: receives the body, and sends the response, a complete one in one write."""

import asyncio
import re
import time
from email.utils import formatdate
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Protocol

from bascule.gateway.http.backpressure import Outflow

AHEAD = 64 * 1024
"""Bytes of a body that are taken before anybody reads them."""

DISCONNECT: dict[str, Any] = {"type": "http.disconnect"}

BODILESS = frozenset({204, 304})
"""Answers that have no body, and none of length nought either."""

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
CLOSE = b"connection: close\r\n"
JSON_HEAD = b"content-type: application/json\r\ncontent-length: %d\r\n"

_BAD_NAME = re.compile(rb"[\x00-\x20\x7f()<>@,;:\\\[\]={}\"/?]")
_BAD_VALUE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
"""What would end a header before its end: whoever may write it could write answers of their own."""

STATUS_LINES = {status.value: f"HTTP/1.1 {status.value} {status.phrase}\r\n".encode() for status in HTTPStatus}


class Line(Protocol):
    """The connection, as far as a request needs it."""

    @property
    def parting(self) -> bool:
        """Whether the connection ends with this answer, and its client is to be told."""
        ...

    @property
    def outflow(self) -> Outflow: ...

    def read_on(self) -> None: ...

    def write(self, data: bytes) -> None: ...

    def answered(self, request: "HttpRequest") -> None:
        """The answer is whole."""
        ...


class HttpRequest:
    """One of them, from the end of its head on; called, it sends. An app may receive and send from several tasks."""

    __slots__ = (
        "_body",
        "_chunked",
        "_expects",
        "_head",
        "_left",
        "_line",
        "_news",
        "_waiting",
        "begun",
        "complete",
        "gone",
        "is_head",
        "keep_alive",
        "more",
        "scope",
    )

    def __init__(
        self, line: Line, scope: dict[str, Any], *, keep_alive: bool, expects: bool, body: bytes | None = None
    ) -> None:
        """`expects`: the client sends its body only when it was told to. `body`: all of it, if it is here."""
        self._line = line
        self.scope = scope
        self.is_head = scope["method"] == "HEAD"
        self.keep_alive = keep_alive
        self.begun = False
        """Whether an answer has begun: from here on there can be no other."""
        self.complete = False
        self.gone = False
        """Whether nobody waits for the answer."""
        self.more = body is None
        """Whether more of the body is still to come."""
        self._expects = expects
        self._body = body or b""
        self._news = body is not None
        """Whether there is something to receive that was not received yet."""
        self._waiting: asyncio.Event | None = None
        self._head = b""
        """The head of the answer, for as long as it waits for the body."""
        self._chunked = False
        self._left: int | None = None
        """Bytes of the answer that are announced and not sent, if it was said how many there are."""

    # What the connection tells.

    def take(self, part: bytes) -> bool:
        """A part of the body. Whether that is as much as is taken until somebody reads it."""
        self._body = self._body + part if self._body else part
        self._tell()
        return len(self._body) > AHEAD

    def end(self) -> None:
        """The body is whole."""
        self.more = False
        self._tell()

    def lose(self) -> None:
        """The client is not there any more."""
        self.gone = True
        self._tell()

    @property
    def unread(self) -> bool:
        """Whether some of the body waits for its reader."""
        return bool(self._body)

    def _tell(self) -> None:
        self._news = True
        if self._waiting is not None:
            self._waiting.set()

    # What the app asks.

    def whole(self, most: int) -> bytes | None:
        """All of the body, in the place of `receive`, if it is here and not larger than this."""
        if self.more or not self._news or self.complete or self.gone or len(self._body) > most:
            return None
        self._news = False
        body, self._body = self._body, b""
        return body

    async def receive(self) -> dict[str, Any]:
        if self._expects:
            self._expects = False
            if not self.gone:
                self._line.write(CONTINUE)
        if not self._news and not self.complete and not self.gone:
            await self._wait()
        if self.complete or self.gone:
            return DISCONNECT
        self._news = False
        body, self._body = self._body, b""
        return {"type": "http.request", "body": body, "more_body": self.more}

    async def _wait(self) -> None:
        self._line.read_on()
        waiting = self._waiting
        if waiting is None:
            waiting = self._waiting = asyncio.Event()
        waiting.clear()
        await waiting.wait()

    async def __call__(self, event: dict[str, Any]) -> None:
        """As an app sends. Waits for a client that reads slowly."""
        if self._line.outflow.paused:
            await self._line.outflow.drained()
        if self.gone:
            return
        if not self.begun:
            self._begin(event["status"], event.get("headers", ()))
        elif self.complete:
            raise RuntimeError("the answer was whole already")
        else:
            self._go_on(event.get("body", b""), more=event.get("more_body", False))

    def answer(self, status: int, body: bytes) -> bool:
        """Send a whole answer of JSON in one step, as nearly all are. False, with nothing done, where there is more to
        it: a client that reads slowly or is gone, one that wants no body, an answer that has begun."""
        line = self._line
        if self.begun or self.gone or self.is_head or line.outflow.paused:
            return False
        self.begun = self.complete = True
        self._expects = False
        if line.parting:
            self.keep_alive = False
        last = b"\r\n" if self.keep_alive else CLOSE + b"\r\n"
        head = STATUS_LINES[status] + _date_line(int(time.time())) + JSON_HEAD % len(body)
        line.write(head + last + body)
        self._tell()
        line.answered(self)
        return True

    def _begin(self, status: int, headers: Any) -> None:
        self.begun = True
        self._expects = False
        head, length, says_close = _written(headers)
        if self._line.parting or says_close:
            self.keep_alive = False
        if not self.keep_alive:
            head.append(CLOSE)
        if self.is_head or status in BODILESS:
            self._left = 0
        elif length is None and self.scope["http_version"] == "1.1":
            self._chunked = True
            head.append(b"transfer-encoding: chunked\r\n")
        else:
            # Without a length, an older client reads until the connection ends.
            self._left = length
        head.append(b"\r\n")
        written = b"".join((STATUS_LINES[status], *head))
        if length is None:
            # A stream, whose first part may be long in coming.
            self._line.write(written)
        else:
            self._head = written

    def _go_on(self, body: bytes, *, more: bool) -> None:
        framed = self._framed(b"" if self.is_head else body, more=more)
        if self._head:
            framed = self._head + framed
            self._head = b""
        self.complete = not more
        if framed:
            self._line.write(framed)
        if not more:
            self._tell()
            self._line.answered(self)

    def _framed(self, body: bytes, *, more: bool) -> bytes:
        if self._chunked:
            return _chunk(body, last=not more)
        if self._left is not None:
            self._left -= len(body)
            if self._left < 0 or (self._left and not more):
                raise RuntimeError("an answer of another length than it said")
        return body


def _written(headers: Any) -> tuple[list[bytes], int | None, bool]:
    """Headers as they are sent, the length that they announce, and whether they say that the connection is closed."""
    parts = [_date_line(int(time.time()))]
    length: int | None = None
    says_close = False
    for name, value in headers:
        if name == b"content-length":
            length = int(value)
            parts.append(b"content-length: %d\r\n" % length)
        elif name == b"connection":
            says_close = value == b"close"
        elif _BAD_NAME.search(name) or _BAD_VALUE.search(value):
            raise RuntimeError("a header that cannot be sent as one")
        else:
            parts.append(b"%s: %s\r\n" % (name, value))
    return parts, length, says_close


def _chunk(body: bytes, *, last: bool) -> bytes:
    """As a part of a stream. An empty one would end it."""
    part = b"%x\r\n%s\r\n" % (len(body), body) if body else b""
    return part + b"0\r\n\r\n" if last else part


@lru_cache(maxsize=1)
def _date_line(second: int) -> bytes:
    """The time, written once a second."""
    return f"date: {formatdate(second, usegmt=True)}\r\n".encode()
