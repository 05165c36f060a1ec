"""A beast over a WebSocket: as little of RFC 6455 as a server needs. A fragment of a message is one on the wire."""

import base64
import hashlib
import json
import socket
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, BinaryIO

from beast_ways import Head, Piece, Raw

KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CONTINUATION, CLOSE = 0x1, 0x0, 0x8

Answer = Callable[[dict[str, Any]], Iterable[Piece]]
"""What is said to one request. The opening counts as one, `upgrade`; to say something to it is to open nothing."""


def serve_ws(listener: socket.socket, answer: Answer) -> None:
    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=converse, args=(connection, answer), daemon=True).start()


def converse(connection: socket.socket, answer: Answer) -> None:
    with suppress(OSError), connection, connection.makefile("rb") as reader:
        key = read_key(reader)
        instead = [*answer({"method": "upgrade"})]
        if instead:
            refuse(connection, instead)
            return
        connection.sendall(accepted(key))
        mouth = Mouth(connection.sendall)
        while (message := read_message(reader)) is not None:
            for piece in answer(message):
                mouth.say(piece)


class Mouth:
    """Puts pieces into frames."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write
        self._within = False

    def say(self, piece: Piece) -> None:
        match piece:
            case Raw():
                self._write(piece)
            case dict():
                self._write(frame(json.dumps(piece).encode(), TEXT, fin=True))
            case bytes():
                self._write(frame(piece, CONTINUATION if self._within else TEXT, fin=False))
                self._within = True
            case _:
                self._write(frame(b"", CONTINUATION, fin=True))
                self._within = False


def frame(payload: bytes, opcode: int, *, fin: bool) -> bytes:
    size = len(payload)
    head = bytes([(0x80 if fin else 0) | opcode])
    if size < 126:
        return head + bytes([size]) + payload
    if size < 1 << 16:
        return head + bytes([126]) + size.to_bytes(2, "big") + payload
    return head + bytes([127]) + size.to_bytes(8, "big") + payload


def refuse(connection: socket.socket, pieces: list[Piece]) -> None:
    for piece in pieces:
        if isinstance(piece, Head):
            lines = [f"HTTP/1.1 {piece.status}", *(f"{name}: {value}" for name, value in piece.headers.items())]
            connection.sendall("\r\n".join([*lines, "Content-Length: 0", "", ""]).encode())


def accepted(key: bytes) -> bytes:
    digest = base64.b64encode(hashlib.sha1(key + KEY).digest())
    switch = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    return switch + b"Sec-WebSocket-Accept: " + digest + b"\r\n\r\n"


def read_key(reader: BinaryIO) -> bytes:
    key = b""
    while (line := reader.readline()) not in {b"\r\n", b""}:
        name, _, value = line.partition(b":")
        if name.lower() == b"sec-websocket-key":
            key = value.strip()
    return key


def read_message(reader: BinaryIO) -> dict[str, Any] | None:
    """The next request; nothing at the end of the connection."""
    while len(start := reader.read(2)) == 2:
        size = start[1] & 0x7F
        if size > 125:
            size = int.from_bytes(reader.read(2 if size == 126 else 8), "big")
        mask = reader.read(4)
        payload = bytes(byte ^ mask[index % 4] for index, byte in enumerate(reader.read(size)))
        if start[0] & 0xF == CLOSE:
            return None
        message = json.loads(payload) if start[0] & 0xF == TEXT else {}
        if "id" in message and "method" in message:
            return message
    return None
