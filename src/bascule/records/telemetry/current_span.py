"""The span of the program that we are a part of, where it traces itself."""

from opentelemetry.trace import get_current_span

from bascule.core.trace_context import TraceContext


def ambient() -> TraceContext | None:
    found = get_current_span().get_span_context()
    if not found.is_valid:
        return None
    state = found.trace_state.to_header() if found.trace_state else ""
    return TraceContext(found.trace_id, found.span_id, found.trace_flags.sampled, state)
