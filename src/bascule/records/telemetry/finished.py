"""Finished operation, held until its span is made: names, codes and times, and no content. A result may be large, and
private."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from bascule.core.events import RequestEnded, ToolInvoked
from bascule.core.outcome import ToolFailure
from bascule.core.trace_context import Span, TraceContext
from bascule.records.telemetry.labels import PEER_ERROR, error_type

NO_STEPS: Mapping[str, float] = {}


class Finished(msgspec.Struct, frozen=True, gc=False):
    """One operation that has ended."""

    side: Literal["client", "server"]
    method: str
    context: TraceContext
    parent: TraceContext | None
    ended: float
    """Seconds since the epoch."""
    seconds: float
    tool: str = ""
    prompt: str = ""
    error: str = ""
    """The class of the failure, as the conventions name it."""
    failure: str = ""
    """Our kind of failure."""
    code: str = ""
    """Our code of it."""
    rpc_code: str = ""
    """The code of the protocol's error, if it ended by one."""
    rule: str = ""
    version: str = ""
    transport: str = ""
    server: str = ""
    lane: str = ""
    own_name: str = ""
    """The server's own name for a tool or a prompt."""
    request_id: str = ""
    steps: Mapping[str, float] = NO_STEPS


def finished_call(event: ToolInvoked | RequestEnded, span: Span, context: TraceContext) -> Finished:
    """What is kept of a request to a server."""
    outcome, named = event.outcome, bool(event.server)
    method, name = ("tools/call", event.tool) if isinstance(event, ToolInvoked) else (event.method, event.subject)
    error = failure = code = rpc_code = ""
    if isinstance(outcome, ToolFailure) and not outcome.asks:
        error, failure, code, rpc_code = _told(outcome)
    # Resources are known by addresses, which may hold anything.
    shown = name if named and method in {"tools/call", "prompts/get"} else ""
    own = (getattr(outcome, "tool", "") or getattr(outcome, "prompt", "")) if shown else ""
    return Finished(
        "client",
        method,
        context,
        span.parent,
        event.at,
        event.seconds,
        shown if method == "tools/call" else "",
        shown if method == "prompts/get" else "",
        error,
        failure,
        code,
        rpc_code,
        event.rule,
        span.version,
        span.transport,
        event.server,
        event.lane.value,
        own,
        "",
        event.steps,
    )


def _told(failure: ToolFailure) -> tuple[str, str, str, str]:
    of_protocol = failure.code == PEER_ERROR and isinstance(failure.tool_code, int)
    return error_type(failure), failure.kind.value, failure.code, str(failure.tool_code) if of_protocol else ""
