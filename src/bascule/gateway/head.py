"""The headers of a request, read once."""

from collections.abc import Iterable

import msgspec

PARAM = b"mcp-param-"
TRACE = b"trace"

BLANK = " \t"
"""What may stand around a value without being a part of it. Not every web server takes it away."""

_FIELDS = {
    b"authorization": "authorization",
    b"content-type": "content_type",
    b"content-length": "length",
    b"accept": "accept",
    b"mcp-protocol-version": "version",
    b"mcp-method": "method",
    b"mcp-name": "name",
    b"mcp-session-id": "session",
}


class Head(msgspec.Struct):
    """What the headers of one request say. Of a header sent twice that must be one, the request is told by `twice`."""

    authorization: str = ""
    content_type: str = ""
    length: str = ""
    accept: str = ""
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

    @property
    def is_json(self) -> bool:
        kind = self.content_type
        return kind == "application/json" or kind.partition(";")[0].strip().lower() == "application/json"

    def accepts(self) -> tuple[bool, bool]:
        """Whether JSON will do as an answer, and whether a stream of events will."""
        return _accepts(self.accept)


def read_head(headers: Iterable[tuple[bytes, bytes]]) -> Head:
    """Names are in lower case, as every web server hands them over; values are any bytes."""
    head = Head()
    for name, value in headers:
        field = _FIELDS.get(name)
        if field is not None:
            if getattr(head, field):
                head.twice = name.decode("latin-1")
            setattr(head, field, value.decode("latin-1").strip(BLANK))
        elif name == b"host":
            head.hosts.append(value.decode("latin-1"))
        elif name == b"origin":
            head.origins.append(value.decode("latin-1"))
        elif name.startswith((PARAM, TRACE)):
            _read_more(head, name, value.decode("latin-1").strip(BLANK))
    return head


def _read_more(head: Head, name: bytes, value: str) -> None:
    """Of two parents neither is believed. A trace's state may come in several parts."""
    if name == b"traceparent":
        head.traceparent = value if head.traceparent is None else ""
    elif name == b"tracestate":
        head.tracestate = f"{head.tracestate},{value}" if head.tracestate else value
    elif name.startswith(PARAM):
        key = name.decode("latin-1")
        if key in head.params:
            head.twice = key
        head.params[key] = value


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
