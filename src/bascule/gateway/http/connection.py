"""One HTTP/1.1 connection: limits on the head and on data after a request, keep-alive, and one deadline timer for the
head, body and idle timeouts. Imported only when a gateway is served: it needs httptools, which is not part of the core
install."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum
from functools import partial
from math import inf
from typing import Any, Protocol, cast

import httptools

from bascule.gateway.errors import INVALID_REQUEST, unforeseen
from bascule.gateway.http.backpressure import Outflow
from bascule.gateway.http.body import SLOWEST
from bascule.gateway.http.connection_limit import Hall
from bascule.gateway.http.head_cache import Acquaintance, Shelf
from bascule.gateway.http.request import STATUS_LINES, HttpRequest
from bascule.gateway.http.request_target import Authority, BadTarget, parts_of, server_named_by
from bascule.gateway.readiness import Readiness
from bascule.wire.jsonrpc import write_error

_log = logging.getLogger("bascule.gateway")

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

ASGI = {"version": "3.0", "spec_version": "2.3"}

App = Callable[[dict[str, Any], Callable[[], Awaitable[Any]], Callable[[dict[str, Any]], Awaitable[None]]], Any]


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


class House(Protocol):
    """The web server, as far as its connections need it."""

    app: App
    hall: Hall
    shelf: Shelf
    kept_open: float
    """Seconds for which a connection on which nothing is asked is kept."""
    tasks: set[asyncio.Task[None]]
    """In which requests are served."""
    connections: set[Any]
    """Those that are open."""

    readiness: Readiness
    """Once it drains, answers say that they are the last on their connection."""
    stopped: bool

    def left(self) -> None:
        """A connection has ended, or a task."""
        ...


class Lateness:
    """Read deadline of one connection. One loop timer, which is re-armed only if the new deadline is earlier: nearly
    always the expected bytes come long before it, and a later deadline follows."""

    __slots__ = ("_due", "_late", "_loop", "_rings", "_timer")

    def __init__(self, late: Callable[[], None]) -> None:
        self._late = late
        self._loop = asyncio.get_running_loop()
        self._due = inf
        self._timer: asyncio.TimerHandle | None = None
        self._rings = inf

    def expect(self, within: float) -> None:
        """From now on, whatever was expected before."""
        due = self._due = self._loop.time() + within
        # Else the timer that runs sees to it.
        if due < self._rings:
            self._set(due)

    def expect_the_rest(self, within: float) -> None:
        """The same, unless less time is left for what was expected before."""
        self._set(min(self._due, self._loop.time() + within))

    def ease(self) -> None:
        """Nothing is expected."""
        self._due = inf

    def stop(self) -> None:
        """Nothing ever again. A timer that runs would keep all that it could tell."""
        self._due = inf
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _set(self, due: float) -> None:
        self._due = due
        if due < self._rings:
            if self._timer is not None:
                self._timer.cancel()
            self._rings = due
            self._timer = self._loop.call_at(due, self._ring)

    def _ring(self) -> None:
        self._timer, self._rings = None, inf
        if self._due > self._loop.time():
            if self._due != inf:
                self._set(self._due)
        else:
            self._due = inf
            self._late()


class Connection(asyncio.Protocol):
    """One of them. Requests come one after the other: what is sent before the answer to the last one is not read."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._hall = house.hall
        self._loop = asyncio.get_running_loop()
        self._parser: Any = httptools.HttpRequestParser(self)
        # What follows a request that closes its connection is not read, and no error of the request's.
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self._client: tuple[str, int] | None = None
        self._server: tuple[str, int | None] | None = None
        self._request: HttpRequest | None = None
        """The last one."""
        self._url = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._expects = False
        self._stage = Stage.NOTHING
        self._spare = 0
        """Bytes that have come of this request and were no body that anybody reads."""
        self._arrived = 0
        """Bytes that came last, at once: a body may be among them."""
        self._deaf = False
        """Whether nothing that comes is read any more."""
        self._reading_paused = False
        self._lateness = Lateness(self._is_late)
        self._heads = Acquaintance(house.shelf)

    @property
    def holder(self) -> Any:
        return self._request.scope.get("holder") if self._request is not None else None

    @property
    def parting(self) -> bool:
        return self._house.readiness.draining

    @property
    def _serving(self) -> bool:
        return self._request is not None and not self._request.complete

    # The life of a connection.

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._transport = transport
        self.write = transport.write
        self.outflow = Outflow(self._hall, self, transport)
        self._client = _address(transport.get_extra_info("peername"))
        self._server = _address(transport.get_extra_info("sockname"))
        self._house.connections.add(self)
        if self._hall.enter(self):
            self._lateness.expect(HEAD_WITHIN)
        else:
            self._refuse(503, "too many connections are open; try again in a moment")

    def connection_lost(self, _exc: Exception | None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        self._deaf = True
        self._hall.leave(self)
        self._lateness.stop()
        if self._request is not None and not self._request.complete:
            self._request.lose()
        self.outflow.end()
        # It knows us, and we know it: nobody would let go of either for long.
        self._parser = None
        self._heads.forget()
        self._house.connections.discard(self)
        self._house.left()

    def hang_up(self) -> None:
        self._deaf = True
        self._transport.abort()

    def shut(self) -> None:
        """Close it: at once where nothing is under way, else after the answer."""
        if self._serving:
            assert self._request is not None
            self._request.keep_alive = False
        else:
            self._transport.close()

    # What comes in.

    def data_received(self, data: bytes) -> None:
        if self._deaf:
            return
        between = self._stage is Stage.NOTHING and not self._serving
        if between and (again := self._heads.recognise(data)) is not None:
            self._begin(HttpRequest(self, again[0], keep_alive=True, expects=False, body=again[1]))
            return
        self._arrived = len(data)
        try:
            self._parser.feed_data(data)
            if self._stage is not Stage.NOTHING:
                self._weigh(len(data))
            elif between:
                self._learn(data)
        except httptools.HttpParserUpgrade:
            # Nothing else is spoken here. The request is answered as one that did not ask.
            self._hear_no_more()
        except (httptools.HttpParserError, Refused) as error:
            self._unreadable(error)
        if self._stage is not Stage.NOTHING or not self._serving:
            # A part of a body, of a head, or of nothing at all.
            self._lateness.expect_the_rest(BODY_WITHIN if self._serving else HEAD_WITHIN)

    def on_message_begin(self) -> None:
        if self._serving:
            raise Refused(400, "the answer to the last request comes first")
        self._stage = Stage.HEAD
        self._spare = 0
        self._url = b""
        self._headers = []
        self._expects = False

    def on_url(self, url: bytes) -> None:
        self._url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._expects = True
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        self._count_headers()
        if self._spare + self._arrived > HEAD_MOST and self._head_size() > HEAD_MOST:
            raise _too_large()
        version = self._parser.get_http_version()
        current = version == "1.1"
        if not current:
            self._check_older(version)
        scope = self._scope(version)
        # Only now: an error before this is one of the head, and gets its answer.
        self._stage = Stage.BODY
        alive = current and self._parser.should_keep_alive()
        self._begin(HttpRequest(self, scope, keep_alive=alive, expects=current and self._expects))

    def _check_older(self, version: str) -> None:
        """Refuse versions other than 1.0, and chunks in 1.0: that version does not have them, so a proxy before the
        gateway could see the end of the request elsewhere."""
        if version != "1.0":
            raise _other_version(version)
        if any(name == b"transfer-encoding" for name, _ in self._headers):
            raise Refused(400, "a request of HTTP/1.0 has no Transfer-Encoding")

    def _begin(self, request: HttpRequest) -> None:
        self._lateness.ease()
        self._hall.asks(self)
        self._request = request
        house = self._house
        task = self._loop.create_task(house.app(request.scope, request.receive, request))
        house.tasks.add(task)
        task.add_done_callback(partial(self._served, request))

    def _scope(self, version: str) -> dict[str, Any]:
        try:
            path, raw, query, authority = parts_of(self._url)
        except BadTarget as error:
            raise Refused(400, str(error)) from error
        if authority is not None:
            self._check_host(authority)
        return {
            "type": "http",
            "asgi": ASGI,
            "http_version": version,
            "method": self._parser.get_method().decode("ascii"),
            "scheme": "http",
            "path": path,
            "raw_path": raw,
            "query_string": query,
            "root_path": "",
            "headers": self._headers,
            "client": self._client,
            "server": self._server,
        }

    def _check_host(self, authority: Authority) -> None:
        """Refuse an absolute request target unless the one Host header names the same server: a proxy may have routed
        by the one, and the gateway admits clients by the other."""
        hosts = [value for name, value in self._headers if name == b"host"]
        if len(hosts) != 1 or server_named_by(hosts[0], authority.scheme) != authority:
            raise Refused(400, "the request target names another server than the Host header")

    def _learn(self, data: bytes) -> None:
        """What came began where a head begins, and the parser expects the next head now."""
        request = self._request
        if request is not None and request.keep_alive and not request.complete and not self._expects:
            self._heads.learn(data, request.scope)

    def on_body(self, body: bytes) -> None:
        request = self._request
        if request is not None and not request.complete and request.take(body) and not self._reading_paused:
            self._reading_paused = True
            self._transport.pause_reading()

    def read_on(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            self._transport.resume_reading()

    def on_message_complete(self) -> None:
        self._stage = Stage.NOTHING
        self._lateness.ease()
        if self._request is not None and not self._request.complete:
            self._request.end()
        else:
            # What nobody wanted any more has come to its end.
            self._lateness.expect(self._house.kept_open)

    def _count_headers(self) -> None:
        if len(self._headers) > MOST_HEADERS:
            raise Refused(431, f"a request has at most {MOST_HEADERS} headers")

    def _head_size(self) -> int:
        return len(self._url) + sum(len(name) + len(value) for name, value in self._headers)

    def _weigh(self, size: int) -> None:
        """Count what has come and is of no use to anybody."""
        self._count_headers()
        if self._stage is Stage.BODY and self._serving:
            assert self._request is not None
            if not self._request.unread:
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
            return
        version = self._parser.get_http_version()
        if version.startswith("1.") or version == "0.0":
            # 0.0: the parser has not come to the version.
            self._refuse(400, "this is no HTTP/1.1")
        else:
            self._refuse(505, str(_other_version(version)))

    def _hear_no_more(self) -> None:
        self._deaf = True
        self.shut()

    # What goes out.

    def answered(self, request: HttpRequest) -> None:
        self._hall.rests(self)
        if not request.keep_alive:
            self._transport.close()
            return
        if self._reading_paused:
            self.read_on()
        # The rest of a body is not wanted any more, and not waited for as long as the next request.
        self._lateness.expect(HEAD_WITHIN if self._stage is Stage.BODY else self._house.kept_open)

    def _served(self, request: HttpRequest, task: asyncio.Task[None]) -> None:
        """The app has done with a request."""
        house = self._house
        house.tasks.discard(task)
        if house.stopped or not house.connections:
            house.left()
        error = None if task.cancelled() else task.exception()
        if error is not None:
            _log.error("a request could not be answered", exc_info=error)
        if not request.complete and not request.gone:
            # There will be no answer any more.
            self._end_with(500, unforeseen())

    def pause_writing(self) -> None:
        self.outflow.pause()

    def resume_writing(self) -> None:
        self.outflow.resume()

    def _is_late(self) -> None:
        if self._stage is Stage.HEAD:
            self._refuse(408, f"the head of a request must come within {HEAD_WITHIN:g} seconds")
        elif self._serving and self._stage is Stage.BODY:
            self._refuse(408, f"the body of a request must come within {BODY_WITHIN:g} seconds")
        elif not self._serving:
            self.hang_up()

    def _refuse(self, status: int, words: str) -> None:
        self._end_with(status, write_error(None, INVALID_REQUEST, words))

    def _end_with(self, status: int, body: bytes) -> None:
        """Answer without the app, where nothing of an answer was sent, and hang up."""
        self._deaf = True
        request = self._request if self._serving else None
        if request is not None and request.begun:
            self.hang_up()
            return
        if request is not None:
            request.lose()
        if not self._transport.is_closing():
            head = (
                b"content-type: application/json\r\ncontent-length: %d\r\nretry-after: 1\r\nconnection: close\r\n\r\n"
            )
            self._transport.write(STATUS_LINES[status] + head % len(body) + body)
            self._transport.close()


def _other_version(version: str) -> Refused:
    return Refused(505, f"HTTP/{version} is not served here; use HTTP/1.1")


def _address(info: Any) -> Any:
    """One end of a connection, as apps know it. A socket that is a file has no port, and who asks there no address."""
    if isinstance(info, tuple | list):
        host, port, *_ = cast("Sequence[Any]", info)
        return str(host), int(port)
    return (info, None) if info and isinstance(info, str) else None


def _too_large() -> Refused:
    return Refused(431, f"a head has at most {HEAD_MOST} bytes")
