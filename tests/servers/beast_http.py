"""A beast over HTTP."""

import json
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

from beast_speech import Mouth, pieces
from beast_ways import CUT, WAYS, Ask, Head, Piece, Raw


class Response:
    """One HTTP response, its body in chunks, so that its end is told."""

    def __init__(self, connection: socket.socket, carrier: str) -> None:
        self._connection = connection
        kind = "text/event-stream" if carrier == "events" else "application/json"
        self._head: Head | None = Head("200 OK", {"Content-Type": kind})

    def give(self, piece: Piece, mouth: Mouth) -> None:
        if isinstance(piece, Head):
            self._head = piece
        else:
            mouth.say(piece)

    def chunk(self, data: bytes) -> None:
        self._send_head()
        if data:
            self._connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))

    def end(self) -> None:
        self._send_head()
        self._connection.sendall(b"0\r\n\r\n")

    def _send_head(self) -> None:
        if self._head is not None:
            headers = {**self._head.headers, "Transfer-Encoding": "chunked"}
            lines = [f"HTTP/1.1 {self._head.status}", *(f"{key}: {value}" for key, value in headers.items()), "", ""]
            self._head = None
            self._connection.sendall("\r\n".join(lines).encode())


def converse(connection: socket.socket, carrier: str, name: str, trap: str) -> None:
    with suppress(OSError), connection, connection.makefile("rb") as reader:
        while (body := read_request(reader)) is not None:
            message = json.loads(body) if body else {}
            if "method" not in message or "id" not in message:
                connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
                continue
            response = Response(connection, carrier)
            mouth = Mouth(carrier, response.chunk)
            for piece in pieces(message, carrier, name, trap):
                response.give(piece, mouth)
            response.end()


class EventStream:
    """The one stream on which everything is said in the old way. A new client's replaces the last one's."""

    def __init__(self, name: str, trap: str) -> None:
        self._name = name
        self._trap = trap
        self._open: socket.socket | None = None

    def converse(self, connection: socket.socket) -> None:
        with suppress(OSError), connection, connection.makefile("rb") as reader:
            while (body := read_request(reader)) is not None:
                if not body:
                    self._begin(connection)
                    threading.Event().wait()
                connection.sendall(b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n")
                message = json.loads(body)
                if "method" in message and "id" in message:
                    self._say(pieces(message, "sse", self._name, self._trap))

    def _begin(self, connection: socket.socket) -> None:
        self._open = connection
        methods, way = WAYS[self._name]
        if "GET" in methods:
            self._say(way(Ask(None, {}, "sse", self._trap)))
        else:
            self._say([Head("200 OK", {"Content-Type": "text/event-stream"}), Raw(b"event: endpoint\ndata: /say\n\n")])

    def _say(self, said: Iterable[Piece]) -> None:
        stream = self._open
        assert stream is not None
        mouth = Mouth("sse", stream.sendall)
        for piece in said:
            if piece is CUT:
                stream.shutdown(socket.SHUT_RDWR)
            elif isinstance(piece, Head):
                lines = [f"HTTP/1.1 {piece.status}", *(f"{k}: {v}" for k, v in piece.headers.items()), "", ""]
                stream.sendall("\r\n".join(lines).encode())
            else:
                mouth.say(piece)


def read_request(reader: BinaryIO) -> bytes | None:
    """The body of the next request, or nothing at the end of the connection."""
    length = 0
    while (line := reader.readline()) not in {b"\r\n", b""}:
        key, _, value = line.partition(b":")
        if key.lower() == b"content-length":
            length = int(value)
    return reader.read(length) if line else None


def serve_http(listener: socket.socket, carrier: str, name: str, trap: str) -> None:
    stream = EventStream(name, trap)
    while True:
        connection, _ = listener.accept()
        if listener.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        serve = stream.converse if carrier == "sse" else partial(converse, carrier=carrier, name=name, trap=trap)
        threading.Thread(target=serve, args=(connection,), daemon=True).start()


def listen(carrier: str) -> socket.socket:
    """Listen, and say where."""
    if carrier == "unix":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind("s")
        listener.listen()
        print(f"unix://{Path.cwd()}/s", flush=True)
    else:
        listener = socket.create_server(("127.0.0.1", 0))
        scheme = "ws" if carrier == "ws" else "http"
        print(f"{scheme}://127.0.0.1:{listener.getsockname()[1]}/mcp", flush=True)
    return listener
