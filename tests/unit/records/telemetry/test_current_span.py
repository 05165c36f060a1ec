from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, TraceState, use_span

from bascule.core.trace_context import TraceContext
from bascule.records.telemetry.current_span import ambient


def test_a_program_that_traces_itself_is_the_parent():
    context = SpanContext(7, 8, is_remote=False, trace_flags=TraceFlags(1), trace_state=TraceState([("a", "1")]))
    with use_span(NonRecordingSpan(context)):
        assert ambient() == TraceContext(7, 8, sampled=True, state="a=1")
    with use_span(NonRecordingSpan(SpanContext(7, 8, is_remote=False))):
        assert ambient() == TraceContext(7, 8, sampled=False)


def test_a_program_that_does_not_is_none():
    assert ambient() is None
