"""Heads that came on a connection before. Clients send the same one again and again, but for the length of the body: to
see that it is the same takes a tenth of what reading it takes.

Above: the connection, which reads every head for which this has no answer, and the app, which finds here what it found
out about the head the last time.
"""

import re
from typing import Any

from msgspec.structs import replace

from bascule.gateway.head import Head, read_head

LENGTH = b"content-length"
TRANSFER_ENCODING = b"transfer-encoding"

MOST = 4
"""Heads of one connection that are remembered: a client has some for the few tools that it calls in turn."""

MOST_ALTOGETHER = 2048
"""Heads of all connections of a web server. Each takes some 5 KiB, at most about 20."""

LONGEST = 4096
"""Bytes of a head that is remembered."""

MOST_HEADERS = 32

VAIN = 16
"""Heads that were remembered one after the other and never came again, until no more are: this client says something
new with each request."""

DIGITS = 6
"""Of the length of a body. One that has more does not come in one piece with its head."""

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,%d})\r\n" % DIGITS, re.IGNORECASE)
_END = b"\r\n\r\n"


class Shelf:
    """The room that one web server has for what its connections remember."""

    __slots__ = ("left",)

    def __init__(self, left: int = MOST_ALTOGETHER) -> None:
        self.left = left


class Familiar:
    """A head, without the digits that say how long the body is."""

    __slots__ = ("_at", "_head", "_headers", "_scope", "after", "before")

    def __init__(self, before: bytes, after: bytes, scope: dict[str, Any], at: int) -> None:
        self.before = before
        self.after = after
        """All that follows the digits, to the very end of the head."""
        # An app may write into what it is given.
        self._scope = {**scope}
        self._headers = (*scope["headers"],)
        self._head = read_head(self._headers)
        self._at = at
        """Where among the headers the length is."""

    def scope(self, length: bytes) -> dict[str, Any]:
        """As it would be had the head been read."""
        headers = Headers(self._headers)
        headers.familiar = self
        headers[self._at] = LENGTH, length
        return {**self._scope, "headers": headers}

    def welcome(self) -> None:
        """Nothing that the head says keeps such a request out."""
        self._head.welcome = True

    def read(self, headers: "Headers") -> Head:
        """What the headers of a request say that has this head."""
        return replace(self._head, length=headers[self._at][1].decode())


class Headers(list[tuple[bytes, bytes]]):
    """Those of a request whose head is known. Who puts others in their place has put away what is known, too."""

    __slots__ = ("familiar",)

    familiar: Familiar


class Acquaintance:
    """What one connection remembers."""

    __slots__ = ("_known", "_shelf", "_vain")

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._known: list[Familiar] = []
        """The one that came last comes first."""
        self._vain = 0

    def recognise(self, data: bytes) -> tuple[dict[str, Any], bytes] | None:
        """The scope and the body of a request, if this is the whole of one, and nothing else, with a head that came
        before: byte for byte, but for the digits of the length."""
        for familiar in self._known:
            start = len(familiar.before)
            if not data.startswith(familiar.before):
                continue
            stop = data.find(b"\r", start, start + DIGITS + 1)
            if stop <= start or not data.startswith(familiar.after, stop):
                continue
            length, body = data[start:stop], data[stop + len(familiar.after) :]
            if not length.isdigit() or int(length) != len(body):
                return None
            self._vain = 0
            if familiar is not self._known[0]:
                self._known.remove(familiar)
                self._known.insert(0, familiar)
            return familiar.scope(length), body
        return None

    def learn(self, data: bytes, scope: dict[str, Any]) -> None:
        """A request came as the whole of this, was read, and the next may follow it."""
        end = data.find(_END, 0, LONGEST)
        found = _LENGTH.search(data, 0, end + 2) if end > 0 else None
        names = [name for name, _ in scope["headers"]]
        if found is None or len(names) > MOST_HEADERS or names.count(LENGTH) != 1 or TRANSFER_ENCODING in names:
            return
        if self._vain >= VAIN or int(found[1]) != len(data) - end - len(_END):
            return
        self._vain += 1
        if len(self._known) >= MOST:
            self._known.pop()
        elif self._shelf.left > 0:
            self._shelf.left -= 1
        else:
            return
        familiar = Familiar(data[: found.start(1)], data[found.end(1) : end + len(_END)], scope, names.index(LENGTH))
        self._known.insert(0, familiar)

    def forget(self) -> None:
        self._shelf.left += len(self._known)
        self._known.clear()
