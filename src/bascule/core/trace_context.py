"""W3C trace context (`traceparent`, `tracestate`): parsing and formatting, and the current span as a context
variable."""

import re
from contextvars import ContextVar

import msgspec

_PARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.ASCII)

_MEMBER = re.compile(
    r"(?:[a-z0-9][a-z0-9_\-*/]{0,255}|[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13})"
    r"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)

LONGEST_PARENT = 128
"""Characters of a `traceparent` that are looked at. Later versions may be longer than the 55 of ours, but not much."""

LONGEST_STATE = 512
"""Characters of a `tracestate` that are passed on: as many as everybody has to take."""

MOST_MEMBERS = 32

_FIRST_VERSION, _NO_VERSION = "00", "ff"


class TraceContext(msgspec.Struct, frozen=True, gc=False):
    """A span, known by its place in a trace. It may be somebody else's."""

    trace_id: int
    span_id: int
    sampled: bool = True
    """Whether whoever began the trace wants to see it."""
    state: str = ""
    """What tracing systems keep with it, as `tracestate` carries it."""

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id:032x}-{self.span_id:016x}-{'01' if self.sampled else '00'}"


class Span(msgspec.Struct, eq=False):
    """One operation while it goes on. What is known of it at its end is told by its event."""

    around: "Span | None" = None
    """The one in whose course it began."""
    context: TraceContext | None = None
    """Its own place; that of its parent where we make no spans; none where there is no trace."""
    parent: TraceContext | None = None
    version: str = ""
    """The version of the protocol that is spoken, once it was sent."""
    transport: str = ""


CURRENT_SPAN: ContextVar[Span | None] = ContextVar("bascule_span", default=None)
"""The operation in whose course this code runs. Set by whoever carries it out, where there is telemetry."""


def read_trace(traceparent: object, tracestate: object = None) -> TraceContext | None:
    """What a peer says of the trace that its request belongs to. None for whatever is no trace context: then a new one
    begins. It is a stranger's word, so only what the standard allows is taken from it."""
    if not isinstance(traceparent, str) or len(traceparent) > LONGEST_PARENT:
        return None
    found = _PARENT.fullmatch(traceparent)
    if found is None or found[1] == _NO_VERSION or (found[1] == _FIRST_VERSION and found[5]):
        return None
    trace_id, span_id = int(found[2], 16), int(found[3], 16)
    if not trace_id or not span_id:
        return None
    return TraceContext(trace_id, span_id, bool(int(found[4], 16) & 1), _read_state(tracestate))


def _read_state(tracestate: object) -> str:
    if not isinstance(tracestate, str) or len(tracestate) > LONGEST_STATE:
        return ""
    members = [member for part in tracestate.split(",") if (member := part.strip(" \t"))]
    fit = len(members) <= MOST_MEMBERS and all(map(_MEMBER.fullmatch, members))
    return ",".join(members) if fit else ""
