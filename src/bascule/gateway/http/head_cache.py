"""Head cache: recognises a request head that came before on its connection, and does not parse it again. The connection
parses every other head; the app keeps its findings about a head with the cached one."""

import re
from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from bascule.gateway.http.headers import Head, read_head
from bascule.wire.http_head_template import Outline

LENGTH = b"content-length"
TRANSFER_ENCODING = b"transfer-encoding"

VARYING = {LENGTH: "length", b"mcp-name": "name", b"traceparent": "traceparent"}
"""Headers whose values may differ, by what they are in a head: how long the body is, which tool is called, and in the
course of what."""

MOST = 4
"""Heads of one connection that are remembered. A client that says the same to all tools has one for each method."""

MOST_ALTOGETHER = 2048
"""Heads of all connections of a web server. Each takes some 5 KiB, at most about 20."""

LONGEST = 4096
"""Bytes of a head that is remembered."""

MOST_HEADERS = 32

VAIN = 16
"""Heads that were remembered one after the other and never came again, until no more are: this client says something
new with each request."""

LONGEST_VALUE = 256
"""Bytes of a value that varies. A body whose length has more than a few digits does not come with its head."""

_PLAIN = rb"[!-~]{1,%d}" % LONGEST_VALUE
"""A value of which every reader makes the same: nothing in it could end a line, or is taken away at its ends."""

_LINES = {name: re.compile(rb"\r\n%s:[ \t]*(%s)\r\n" % (name, _PLAIN), re.IGNORECASE) for name in VARYING}
_END = b"\r\n\r\n"


class Shelf:
    """The room that one web server has for what its connections remember."""

    __slots__ = ("left",)

    def __init__(self, left: int = MOST_ALTOGETHER) -> None:
        self.left = left


class Familiar:
    """A head, without the values that vary."""

    __slots__ = (
        "_fields",
        "_head",
        "_headers",
        "_places",
        "_scope",
        "_told",
        "_values",
        "latest",
        "length",
        "outline",
    )

    def __init__(self, outline: Outline, names: list[bytes], scope: dict[str, Any]) -> None:
        """`names` are those of the headers whose values vary, in their order."""
        self.outline = outline
        self.length = names.index(LENGTH)
        """Which of the values says how long the body is."""
        # An app may write into what it is given.
        self._scope = {**scope}
        self._headers = (*scope["headers"],)
        found = [name for name, _ in self._headers]
        self._places = [(found.index(name), name) for name in names]
        self._fields = [VARYING[name] for name in names]
        self._head = self._told = read_head(self._headers)
        self._values: tuple[bytes, ...] = ()
        """Those of the head that was told last."""
        self.latest: tuple[bytes, int, tuple[bytes, ...]] = (b"", -1, ())
        """The head that came last, how long that request was, and the values: many requests in a row are the same in
        all of this."""

    def scope(self, values: tuple[bytes, ...]) -> dict[str, Any]:
        """As it would be had the head been read."""
        return {**self._scope, "headers": Headers(self, values)}

    def headers(self, values: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
        headers = [*self._headers]
        for (place, name), value in zip(self._places, values, strict=True):
            headers[place] = name, value
        return headers

    def welcome(self) -> None:
        """Nothing that the head says keeps such a request out."""
        self._head.welcome = self._told.welcome = True

    def read(self, values: tuple[bytes, ...]) -> Head:
        """What the headers of a request say that has this head, with these values. Not to be changed."""
        if values is not self._values:
            self._values, self._told = values, replace(self._head)
            for field, value in zip(self._fields, values, strict=True):
                setattr(self._told, field, value.decode())
        return self._told


class Headers:
    """Those of a request whose head is known, for whoever wants to see each. Who puts others in their place has put
    away what is known, too."""

    __slots__ = ("_familiar", "_values")

    def __init__(self, familiar: Familiar, values: tuple[bytes, ...]) -> None:
        self._familiar = familiar
        self._values = values

    def __iter__(self) -> Iterator[tuple[bytes, bytes]]:
        return iter(self._familiar.headers(self._values))

    def __len__(self) -> int:
        return len(self._familiar.headers(self._values))

    def __contains__(self, header: object) -> bool:
        return header in self._familiar.headers(self._values)

    def read(self) -> Head:
        return self._familiar.read(self._values)

    def welcome(self) -> None:
        self._familiar.welcome()


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
        before: byte for byte, but for the values that vary."""
        for familiar in self._known:
            head, size, values = familiar.latest
            if size != len(data) or not data.startswith(head):
                found = familiar.outline.values(data)
                if found is None:
                    continue
                values, at = found
                length = values[familiar.length]
                if not length.isdigit() or int(length) != len(data) - at:
                    continue
                head = data[:at]
                familiar.latest = head, len(data), values
            self._vain = 0
            if familiar is not self._known[0]:
                self._known.remove(familiar)
                self._known.insert(0, familiar)
            return familiar.scope(values), data[len(head) :]
        return None

    def learn(self, data: bytes, scope: dict[str, Any]) -> None:
        """A request came as the whole of this, was read, and the next may follow it."""
        end = data.find(_END, 0, LONGEST) + len(_END)
        names = [name for name, _ in scope["headers"]]
        if end < len(_END) or len(names) > MOST_HEADERS or TRANSFER_ENCODING in names or self._vain >= VAIN:
            return
        found = sorted(
            (line.span(1), name)
            for name in VARYING
            if names.count(name) == 1 and (line := _LINES[name].search(data, 0, end)) is not None
        )
        varying = [name for _, name in found]
        if LENGTH not in varying:
            return
        self._vain += 1
        if len(self._known) >= MOST:
            self._known.pop()
        elif self._shelf.left > 0:
            self._shelf.left -= 1
        else:
            return
        outline = Outline(data[:end], (span for span, _ in found), _PLAIN)
        self._known.insert(0, Familiar(outline, varying, scope))

    def forget(self) -> None:
        self._shelf.left += len(self._known)
        self._known.clear()
