from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanKind, StatusCode

from bascule.records.telemetry.finished import Finished, finished_call
from bascule.records.telemetry.otlp import ATTRIBUTES, STEP, span_of
from support.telling import OWN, PARENT, asked, called, failure, span

RESOURCE, SCOPE = Resource({}), InstrumentationScope("bascule")


def test_a_call_is_a_span_of_a_client():
    made = span_of(finished_call(called(), span(), OWN), RESOURCE, SCOPE)
    assert (made.name, made.kind) == ("tools/call work_act", SpanKind.CLIENT)
    assert made.context is not None
    assert made.parent is not None
    assert (made.context.trace_id, made.context.span_id, made.parent.span_id) == (0xA, 0xC, 0xB)
    assert made.context.trace_state.to_header() == "x=1"
    assert (made.start_time, made.end_time) == (999_500_000_000, 1_000_000_000_000)
    assert made.status.status_code is StatusCode.UNSET
    assert made.attributes == {
        "mcp.method.name": "tools/call",
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "work_act",
        "mcp.protocol.version": "2026-07-28",
        "network.transport": "pipe",
        "bascule.server": "work",
        "bascule.lane": "open",
        "bascule.own_name": "act",
        f"{STEP}send": 0.25,
    }


def test_what_failed_says_so_without_words():
    made = span_of(finished_call(called(failure()), span(), OWN), RESOURCE, SCOPE)
    assert made.status.status_code is StatusCode.ERROR
    assert made.status.description is None
    assert made.attributes is not None
    assert made.attributes["error.type"] == "timeout"
    assert "hunter22" not in repr(dict(made.attributes))


def test_what_has_no_bounded_name_is_called_by_its_method():
    assert (
        span_of(finished_call(asked("resources/read", "db://x"), span(), OWN), RESOURCE, SCOPE).name == "resources/read"
    )


def test_what_was_served_is_a_span_of_a_server_whose_parent_is_elsewhere():
    made = span_of(Finished("server", "tools/list", OWN, PARENT, 1.0, 0.5), RESOURCE, SCOPE)
    assert made.kind is SpanKind.SERVER
    assert made.parent is not None
    assert made.parent.is_remote


def test_the_first_of_a_trace_has_no_parent():
    assert span_of(Finished("client", "tools/list", OWN, None, 1.0, 0.5), RESOURCE, SCOPE).parent is None


def test_no_attribute_names_anybody():
    assert not [name for name in ATTRIBUTES if "user" in name or "session" in name]
