"""Forwarder from a loopback port in a sandbox to the egress proxy's Unix socket, for programs that know only
HTTP_PROXY. It neither parses nor filters: the proxy decides. Standard library only, in one thread."""

import json
import selectors
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

CONNECTIONS = 64
"""At once. Whoever comes on top waits until one has ended."""

CHUNK = 64 * 1024
"""Bytes that wait in one direction of a connection before no more are read."""

LINGERING = 15.0
"""Seconds without a byte after which somebody is let go whom nothing more will be sent."""

PAUSE = 0.1
"""Seconds without taking on anybody when that has failed."""

_WHY = json.dumps(
    {
        "error": "no proxy",
        "reason": "the proxy of this box does not run at the moment. Nothing was sent.",
        "fix": "ask again in a second",
    }
).encode()

NO_PROXY = b"\r\n".join(
    (
        b"HTTP/1.1 503 Service Unavailable",
        b"x-bascule-egress: no proxy",
        b"content-type: application/json",
        b"retry-after: 1",
        b"connection: close",
        b"content-length: %d" % len(_WHY),
        b"",
        _WHY,
    )
)


class _End:
    """One socket of a connection, and what is to be written to it. Whatever its peer does, nothing is raised."""

    def __init__(self, end: socket.socket) -> None:
        end.setblocking(False)  # noqa: FBT003
        self.socket = end
        self.waiting = bytearray()
        self.read_out = False
        """Whether its peer sends no more."""
        self.shut = False
        """Whether we do not, or the peer takes no more."""

    def read(self) -> bytes:
        try:
            data = self.socket.recv(CHUNK)
        except BlockingIOError:
            return b""
        except OSError:
            data = b""
        self.read_out = not data
        return data

    def take(self, data: bytes) -> None:
        if not self.shut:
            self.waiting += data

    def write(self) -> None:
        try:
            del self.waiting[: self.socket.send(self.waiting)]
        except BlockingIOError:
            pass
        except OSError:
            # It may still have said something before it went, so its other half goes on.
            self.waiting.clear()
            self.shut = True

    def shut_down(self) -> None:
        if not self.shut and not self.waiting:
            self.shut = True
            with suppress(OSError):
                self.socket.shutdown(socket.SHUT_WR)


class _Connection:
    """Somebody in the box, and the proxy; or nobody, if that does not run."""

    def __init__(self, caller: socket.socket, end: socket.socket, path: str) -> None:
        self.caller = _End(caller)
        self.proxy: _End | None = None
        self.ends = 0.0
        """When it is over although the caller stays, if the proxy has nothing more to say."""
        end.setblocking(False)  # noqa: FBT003
        try:
            end.connect(path)
        except OSError:
            end.close()
            self.caller.take(NO_PROXY)
        else:
            self.proxy = _End(end)

    def wanted(self) -> Iterator[tuple[socket.socket, int]]:
        """What is to be waited for."""
        for end, other in self._ways():
            # Of somebody who talks to nobody all is read, and forgotten: else closing would take our answer from them.
            reads = not end.read_out and (other is None or len(other.waiting) < CHUNK)
            events = (selectors.EVENT_READ if reads else 0) | (selectors.EVENT_WRITE if end.waiting else 0)
            if events:
                yield end.socket, events

    def serve(self, ready: object, events: int, now: float) -> None:
        for end, other in self._ways():
            if end.socket is ready and events & selectors.EVENT_WRITE and end.waiting:
                end.write()
            if end.socket is ready and events & selectors.EVENT_READ:
                data = end.read()
                if other is not None:
                    other.take(data)
        for end, other in self._ways():
            if other is None or other.read_out:
                end.shut_down()
        self.ends = now + LINGERING if self.caller.shut else 0.0

    def is_over(self, now: float) -> bool:
        over = all(end.read_out and end.shut for end, _ in self._ways())
        return over or bool(self.ends and now >= self.ends)

    def close(self) -> None:
        for end, _ in self._ways():
            end.socket.close()

    def _ways(self) -> tuple[tuple[_End, _End | None], ...]:
        if self.proxy is None:
            return ((self.caller, None),)
        return (self.caller, self.proxy), (self.proxy, self.caller)


class Forwarder:
    """Carries connections for as long as it is turned."""

    def __init__(self, port: int, path: str) -> None:
        self._path = path
        self._listening = [socket.create_server(("127.0.0.1", port), backlog=CONNECTIONS)]
        with suppress(OSError):  # no IPv6 in this box
            self._listening.append(socket.create_server(("::1", port), family=socket.AF_INET6, backlog=CONNECTIONS))
        for each in self._listening:
            each.setblocking(False)  # noqa: FBT003
        self._connections: list[_Connection] = []
        self._pausing = 0.0

    def turn(self, timeout: float = 1.0) -> None:
        """Wait until something can be done, and do it."""
        # Made anew each time: the few there are make it cheap, and nothing is ever forgotten in it. And it is no
        # file, of which there may be none left.
        with selectors.PollSelector() as selector:
            for connection in self._connections:
                for end, events in connection.wanted():
                    selector.register(end, events, connection)
            if len(self._connections) < CONNECTIONS and time.monotonic() >= self._pausing:
                for each in self._listening:
                    selector.register(each, selectors.EVENT_READ)
            for key, events in selector.select(min(timeout, PAUSE) if self._pausing else timeout):
                self._serve(key.fileobj, events, key.data)
        self._let_go([each for each in self._connections if each.is_over(time.monotonic())])

    def close(self) -> None:
        self._let_go(list(self._connections))
        for each in self._listening:
            each.close()

    def _serve(self, ready: Any, events: int, connection: _Connection | None) -> None:
        if connection is not None:
            connection.serve(ready, events, time.monotonic())
            return
        self._pausing = 0.0
        try:
            self._take_on(ready)
        except BlockingIOError:
            pass  # gone again
        except OSError:
            # No room for one more file, say.
            self._pausing = time.monotonic() + PAUSE

    def _take_on(self, listening: socket.socket) -> None:
        # First, since whoever was taken on and cannot be served would have to be sent away; before that, they wait.
        end = socket.socket(socket.AF_UNIX)
        try:
            caller, _ = listening.accept()
        except OSError:
            end.close()
            raise
        self._connections.append(_Connection(caller, end, self._path))

    def _let_go(self, connections: list[_Connection]) -> None:
        for each in connections:
            each.close()
            self._connections.remove(each)


def serve(port: int, path: str, ready: Callable[[], None] | None = None) -> None:
    """Forward for ever. Raises `OSError` where the port cannot be had; `ready` is called when it is listened on."""
    forwarder = Forwarder(port, path)
    if ready is not None:
        ready()
    while True:
        forwarder.turn()
