"""A server whose one tool, `count`, must not be carried out twice, and that fails as each call tells it to.

Arguments: the ledger, a file that outlives it and gets the number of each call it has carried out; and how it is
reached: by `stdio`; by HTTP on a port, answering in `json` or in `events`; by the old HTTP with one event stream, `sse`; or
by a WebSocket, `ws`. The address is then its first line of output.

A call has a `number`, and may have a `fault`, one of those in `FAULTS`, and `late`, seconds.
"""

import io
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from typing import Any

from beast_http import listen, read_request
from beast_ws import TEXT, accepted, frame, read_key, read_message

FAULTS = {
    "die_unread": "answer, and die when the next message comes, without reading it",
    "die_undone": "die, with the call read and not carried out",
    "die_done": "die, with the call carried out and not answered",
    "die_replying": "die in the middle of the reply",
    "exit_done": "end with code 1, with the call carried out and not answered",
    "hang_undone": "neither carry it out nor answer, ever",
    "hang_done": "carry it out, and never answer",
    "late": "carry it out, and answer after a while",
    "twice": "answer twice",
    "close": "carry it out, and close the way back instead of answering",
}

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
COUNT = {"name": "count", "description": "Counts one more.", "inputSchema": {"type": "object"}}


def behaved(message: dict[str, Any]) -> dict[str, Any]:
    match message["method"]:
        case "server/discover":
            return {"result": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}}
        case "initialize":
            info = {"name": "counting", "version": "1"}
            version = message["params"]["protocolVersion"]
            return {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}}
        case "tools/list":
            return {"result": {"tools": [COUNT], **CACHE}}
        case _:
            return {"error": {"code": -32601, "message": "Method not found"}}


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class Voice:
    """The way back on one connection: how a message is put into bytes, where they go, and how it is closed."""

    def __init__(
        self, framed: Callable[[bytes], bytes], write: Callable[[bytes], None], close: Callable[[], None]
    ) -> None:
        self.framed = framed
        self._write = write
        self._close = close
        self._one_at_a_time = threading.Lock()

    def write(self, data: bytes) -> None:
        # Nobody may be there any more to hear it.
        with self._one_at_a_time, suppress(OSError):
            self._write(data)

    def close(self) -> None:
        with self._one_at_a_time, suppress(OSError):
            self._close()


class Counting:
    """The tool, and what goes wrong with it."""

    def __init__(self, ledger: str) -> None:
        # One write at the end of the file for each call, so that lines stay whole whoever dies when.
        self._ledger = os.open(ledger, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._doomed = False

    def before_reading(self) -> None:
        """Called when something has come and nothing of it was read."""
        if self._doomed:
            die()

    def answer(self, message: dict[str, Any], voice: Voice) -> None:
        if message["method"] == "tools/call":
            self._count(message, voice)
        else:
            voice.write(voice.framed(body(message, behaved(message))))

    def _count(self, message: dict[str, Any], voice: Voice) -> None:
        order = message["params"]["arguments"]
        number, fault = order["number"], order.get("fault")
        if fault is not None and fault not in FAULTS:
            unknown = {"error": {"code": -32602, "message": f"no such fault: {fault}"}}
            voice.write(voice.framed(body(message, unknown)))
            return
        if fault == "die_undone":
            die()
        if fault == "hang_undone":
            return
        os.write(self._ledger, b"%d\n" % number)
        said = {"content": [{"type": "text", "text": f"counted {number}"}], **CACHE}
        self._reply(voice.framed(body(message, {"result": said})), order, voice)

    def _reply(self, reply: bytes, order: dict[str, Any], voice: Voice) -> None:
        fault = order.get("fault", "")
        if fault in {"die_done", "die_replying"}:
            voice.write(reply[: len(reply) // 2] if fault == "die_replying" else b"")
            die()
        match fault:
            case "exit_done":
                os._exit(1)
            case "hang_done":
                return
            case "late":
                later = threading.Timer(order["late"], voice.write, (reply,))
                later.daemon = True
                later.start()
                return
            case "close":
                voice.close()
                return
            case _:
                self._doomed = self._doomed or fault == "die_unread"
                voice.write(reply * (2 if fault == "twice" else 1))


def body(message: dict[str, Any], outcome: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], **outcome}).encode()


def is_request(message: dict[str, Any]) -> bool:
    return "id" in message and "method" in message


def lines(counting: Counting) -> Iterator[bytes]:
    """Lines of stdin, read only as far as they have come, so that a message can be left unread."""
    held = b""
    while True:
        select.select([0], [], [])
        counting.before_reading()
        data = os.read(0, 65536)
        if not data:
            return
        *whole, held = (held + data).split(b"\n")
        yield from whole


def serve_stdio(counting: Counting) -> None:
    def write(data: bytes) -> None:
        while data:
            data = data[os.write(1, data) :]

    voice = Voice(lambda text: text + b"\n", write, lambda: os.close(1))
    for line in lines(counting):
        message = json.loads(line)
        if is_request(message):
            counting.answer(message, voice)


def as_response(text: bytes) -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(text), text)


def as_events(text: bytes) -> bytes:
    event = as_event(text)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"%x\r\n%b\r\n0\r\n\r\n" % (len(event), event)


def as_event(text: bytes) -> bytes:
    return b"data: " + text + b"\n\n"


ACCEPTED = b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
NO_STREAM = b"HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n"


class Ear(io.RawIOBase):
    """Reads from a connection only what it may, so that a message can be left unread."""

    def __init__(self, connection: socket.socket, counting: Counting) -> None:
        self._connection = connection
        self._counting = counting

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self._connection.recv(1, socket.MSG_PEEK):
            self._counting.before_reading()
        return self._connection.recv_into(buffer)


def hearing(connection: socket.socket, counting: Counting) -> io.BufferedReader:
    return io.BufferedReader(Ear(connection, counting))


def converse_http(connection: socket.socket, counting: Counting, framed: Callable[[bytes], bytes]) -> None:
    voice = Voice(framed, connection.sendall, lambda: connection.shutdown(socket.SHUT_WR))
    with hearing(connection, counting) as reader:
        while (text := read_request(reader)) is not None:
            message = json.loads(text) if text else {}
            if is_request(message):
                counting.answer(message, voice)
            else:
                connection.sendall(ACCEPTED if message else NO_STREAM)


def converse_ws(connection: socket.socket, counting: Counting) -> None:
    def framed(text: bytes) -> bytes:
        return frame(text, TEXT, fin=True)

    voice = Voice(framed, connection.sendall, lambda: connection.shutdown(socket.SHUT_WR))
    with hearing(connection, counting) as reader:
        connection.sendall(accepted(read_key(reader)))
        while (message := read_message(reader)) is not None:
            counting.answer(message, voice)


class Streams:
    """The event streams of the old HTTP. The address for messages tells which one answers them."""

    def __init__(self, counting: Counting) -> None:
        self._counting = counting
        self._voices: dict[str, Voice] = {}
        self._names = count()

    def converse(self, connection: socket.socket) -> None:
        with hearing(connection, self._counting) as reader:
            while first := reader.readline():
                method, path, _ = first.decode().split(" ")
                text = read_request(reader)
                if method == "GET":
                    self._begin(connection)
                    continue
                connection.sendall(ACCEPTED)
                message = json.loads(text) if text else {}
                voice = self._voices.get(path)
                if voice is not None and is_request(message):
                    self._counting.answer(message, voice)

    def _begin(self, connection: socket.socket) -> None:
        path = f"/say/{next(self._names)}"
        self._voices[path] = Voice(as_event, connection.sendall, lambda: connection.shutdown(socket.SHUT_WR))
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
        connection.sendall(head + f"event: endpoint\ndata: {path}\n\n".encode())


def serve_socket(carrier: str, counting: Counting) -> None:
    streams = Streams(counting)

    def converse(connection: socket.socket) -> None:
        # A message that breaks off cannot be read, and is not carried out.
        with suppress(OSError, ValueError), connection:
            match carrier:
                case "ws":
                    converse_ws(connection, counting)
                case "sse":
                    streams.converse(connection)
                case _:
                    converse_http(connection, counting, as_events if carrier == "events" else as_response)

    listener = listen(carrier)
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=converse, args=(connection,), daemon=True).start()


if __name__ == "__main__":
    tool, chosen = Counting(sys.argv[1]), sys.argv[2]
    if chosen == "stdio":
        serve_stdio(tool)
    else:
        serve_socket(chosen, tool)
