"""Asking a proxy in one's own words, byte by byte, as somebody in a box would who wants more than they may have."""

import json
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PATIENCE = 10.0
"""Seconds for an answer."""


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def refused(self) -> str:
        """Why, if it was the proxy that answered."""
        return self.headers.get("x-bascule-egress", "")


class Caller:
    """One connection to a proxy. `answer` gives None where it was closed instead."""

    def __init__(self, end: socket.socket) -> None:
        end.settimeout(PATIENCE)
        self.socket = end
        self._rest = b""

    def say(self, *lines: str | bytes, body: bytes = b"") -> None:
        head = b"\r\n".join(line if isinstance(line, bytes) else line.encode("latin-1") for line in (*lines, "", ""))
        self.socket.sendall(head + body)

    def answer(self) -> Answer | None:
        while b"\r\n\r\n" not in self._rest:
            if not self._more():
                return None
        head, _, self._rest = self._rest.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        length = int(headers.get("content-length", "0"))
        while len(self._rest) < length and self._more():
            pass
        body, self._rest = self._rest[:length], self._rest[length:]
        return Answer(int(first.split()[1]), headers, body)

    def ended(self) -> bytes:
        """All that comes until it is closed."""
        while self._more():
            pass
        return self._rest

    def _more(self) -> bool:
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            data = b""
        self._rest += data
        return bool(data)


@contextmanager
def calling(path: str) -> Generator[Caller]:
    """Whoever is connected to this socket, however long its path is."""
    folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.settimeout(PATIENCE)
            end.connect(f"/proc/self/fd/{folder}/{Path(path).name}")
            yield Caller(end)
    finally:
        os.close(folder)


def ask(path: str, *lines: str | bytes, body: bytes = b"") -> Answer | None:
    with calling(path) as caller:
        caller.say(*lines, body=body)
        return caller.answer()


def get(path: str, url: str, *headers: str) -> Answer | None:
    """As any program asks that knows HTTP_PROXY."""
    host = url.partition("://")[2].partition("/")[0]
    return ask(path, f"GET {url} HTTP/1.1", f"Host: {host}", *headers)


def connect(path: str, target: str, *headers: str) -> Answer | None:
    """As any program asks that knows HTTPS_PROXY."""
    return ask(path, f"CONNECT {target} HTTP/1.1", f"Host: {target}", *headers)
