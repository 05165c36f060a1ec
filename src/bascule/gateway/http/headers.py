"""Parser of the HTTP request headers that the gateway uses, which reads each request's headers once."""

from collections.abc import Collection, Iterable
from typing import Any

import msgspec

PARAM = b"mcp-param-"
TRACE = b"trace"

BLANK = " \t"
"""What may stand around a value without being a part of it. Not every web server takes it away."""

_FIELDS = {
    b"authorization": "authorization",
    b"content-type": "content_type",
    b"content-length": "length",
    b"mcp-protocol-version": "version",
    b"mcp-method": "method",
    b"mcp-name": "name",
    b"mcp-session-id": "session",
}


_LISTS = {b"host": "hosts", b"origin": "origins", b"accept": "taken"}
"""Those of which each may come in several parts, or is looked at as often as it came."""

_PLAIN = {*_FIELDS, b"host", b"accept", b"accept-encoding", b"accept-language", b"connection", b"user-agent"}
"""Those that a request has as a rule."""


class Head(msgspec.Struct):
    """What the headers of one request say. Of a header sent twice that must be one, the request is told by `twice`."""

    authorization: str = ""
    content_type: str = ""
    length: str = ""
    taken: list[str] = []
    version: str | None = None
    method: str | None = None
    name: str | None = None
    session: str | None = None
    hosts: list[str] = []
    origins: list[str] = []
    params: dict[str, str] = {}
    traceparent: str | None = None
    tracestate: str = ""
    twice: str = ""
    welcome: bool = False
    """Whether a request with this head, on this connection, was let in before. What lets it in knows no more."""

    @property
    def is_json(self) -> bool:
        kind = self.content_type
        return kind == "application/json" or kind.partition(";")[0].strip().lower() == "application/json"

    def accepts(self) -> tuple[bool, bool]:
        """Whether JSON will do as an answer, and whether a stream of events will."""
        return _accepts(self.taken[0] if len(self.taken) == 1 else ", ".join(self.taken))


def read_head(headers: Collection[tuple[bytes, bytes]]) -> Head:
    """Names are in lower case, as every web server hands them over; values are any bytes."""
    found = dict(headers)
    if len(found) == len(headers) and _PLAIN.issuperset(found):
        return _plain_head(found)
    return _any_head(headers)


def _plain_head(found: dict[bytes, bytes]) -> Head:
    """Nothing came twice, and all of it is known: the way that nearly every request takes."""
    given: dict[str, Any] = {
        _FIELDS[name]: value.decode("latin-1").strip(BLANK) for name, value in found.items() if name in _FIELDS
    }
    for name in (b"host", b"accept"):
        if name in found:
            given[_LISTS[name]] = [found[name].decode("latin-1")]
    return Head(**given)


def _any_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    head = Head()
    seen: set[bytes] = set()
    for name, value in headers:
        field = _FIELDS.get(name)
        if field is not None:
            setattr(head, field, value.decode("latin-1").strip(BLANK))
        elif name in _LISTS:
            getattr(head, _LISTS[name]).append(value.decode("latin-1"))
            continue
        elif name.startswith(PARAM):
            head.params[name.decode("latin-1")] = value.decode("latin-1").strip(BLANK)
        elif name.startswith(TRACE):
            _read_trace(head, name, value.decode("latin-1").strip(BLANK))
            continue
        else:
            continue
        if name in seen:
            head.twice = name.decode("latin-1")
        seen.add(name)
    return head


def _read_trace(head: Head, name: bytes, value: str) -> None:
    """Of two parents neither is believed. A trace's state may come in several parts."""
    if name == b"traceparent":
        head.traceparent = value if head.traceparent is None else ""
    elif name == b"tracestate":
        head.tracestate = f"{head.tracestate},{value}" if head.tracestate else value


_KNOWN: dict[str, tuple[bool, bool]] = {}
_MOST_KNOWN = 64
"""Different `Accept` headers that are remembered: clients send the same few for ever."""


def _accepts(accept: str) -> tuple[bool, bool]:
    known = _KNOWN.get(accept)
    if known is None:
        kinds = {part.partition(";")[0].strip().lower() for part in accept.split(",")}
        known = (
            not kinds.isdisjoint({"application/json", "application/*", "*/*"}),
            not kinds.isdisjoint({"text/event-stream", "text/*", "*/*"}),
        )
        if len(_KNOWN) < _MOST_KNOWN:
            _KNOWN[accept] = known
    return known
