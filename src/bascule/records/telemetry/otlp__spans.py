"""Operations that have ended, as spans of OpenTelemetry. Made where they are sent, not where calls wait."""

from collections.abc import Callable

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from bascule.core.trace_context import TraceContext
from bascule.records.telemetry.finished import Finished
from bascule.records.telemetry.labels import NETWORKS, PROTOCOLS

_ERROR = Status(StatusCode.ERROR)
_FINE = Status(StatusCode.UNSET)
_KINDS = {"client": SpanKind.CLIENT, "server": SpanKind.SERVER}

ATTRIBUTES: dict[str, Callable[[Finished], str]] = {
    "mcp.method.name": lambda ended: ended.method,
    "gen_ai.operation.name": lambda ended: "execute_tool" if ended.method == "tools/call" else "",
    "gen_ai.tool.name": lambda ended: ended.tool,
    "gen_ai.prompt.name": lambda ended: ended.prompt,
    "error.type": lambda ended: ended.error,
    "rpc.response.status_code": lambda ended: ended.rpc_code,
    "mcp.protocol.version": lambda ended: ended.version,
    "network.transport": lambda ended: NETWORKS.get(ended.transport, ""),
    "network.protocol.name": lambda ended: PROTOCOLS.get(ended.transport, ""),
    "jsonrpc.request.id": lambda ended: ended.request_id,
    "bascule.server": lambda ended: ended.server,
    "bascule.lane": lambda ended: ended.lane,
    "bascule.own_name": lambda ended: ended.own_name,
    "bascule.failure.kind": lambda ended: ended.failure,
    "bascule.code": lambda ended: ended.code,
    "bascule.rule": lambda ended: ended.rule,
}
"""What a span may say, and whence. What is empty is left out."""

STEP = "bascule.step."
"""Before the name of a step stands this; the value is its seconds."""


def span_of(ended: Finished, resource: Resource, scope: InstrumentationScope) -> ReadableSpan:
    end = int(ended.ended * 1e9)
    target = ended.tool or ended.prompt
    attributes: dict[str, str | float] = {name: told for name, read in ATTRIBUTES.items() if (told := read(ended))}
    attributes |= {f"{STEP}{step}": seconds for step, seconds in ended.steps.items()}
    return ReadableSpan(
        name=f"{ended.method} {target}" if target else ended.method,
        context=_context(ended.context, remote=False),
        parent=None if ended.parent is None else _context(ended.parent, remote=ended.side == "server"),
        resource=resource,
        attributes=attributes,
        kind=_KINDS[ended.side],
        status=_ERROR if ended.error else _FINE,
        start_time=end - int(ended.seconds * 1e9),
        end_time=end,
        instrumentation_scope=scope,
    )


def _context(trace: TraceContext, *, remote: bool) -> SpanContext:
    flags = TraceFlags(TraceFlags.SAMPLED if trace.sampled else TraceFlags.DEFAULT)
    state = TraceState.from_header([trace.state]) if trace.state else None
    return SpanContext(trace.trace_id, trace.span_id, is_remote=remote, trace_flags=flags, trace_state=state)
