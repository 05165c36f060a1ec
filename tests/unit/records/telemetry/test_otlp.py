"""OTLP export of spans and metrics."""

import asyncio
import logging
import socket

import pytest
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import Gauge, Histogram, Sum
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags, TraceState, use_span

from bascule.core.trace_context import TraceContext
from bascule.records.telemetry import otlp as module
from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.finished import Finished, finished_call
from bascule.records.telemetry.histogram import BOUNDS
from bascule.records.telemetry.metrics import FAMILIES
from bascule.records.telemetry.otlp import ATTRIBUTES, MOST_WAITING, STEP, Exporting, ambient, metrics_data, span_of
from support.collector import collecting
from support.telling import OWN, PARENT, asked, called, failure, span
from support.waiting import until


def ended() -> Finished:
    return finished_call(called(), span(), OWN)


async def closed(exporting: Exporting) -> None:
    await asyncio.to_thread(exporting.close)


async def test_spans_and_counts_arrive_at_the_collector():
    counts = Counts()
    counts.note(called())
    async with collecting() as collector:
        exporting = Exporting(f"{collector.url}/", counts, "1.2.3")
        exporting.open()
        exporting.put(ended())
        await collector.wait_for(1)
        await closed(exporting)
    assert collector.spans[0].name == "tools/call work_act"
    assert collector.spans[0].resource["service.name"] == "bascule"
    assert collector.spans[0].resource["service.version"] == "1.2.3"
    assert collector.metrics["mcp.client.operation.duration"][0][1] == 1
    assert collector.metrics["bascule.telemetry.spans"] == [({}, 1)]


async def test_the_environment_has_the_last_word_on_who_sends(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OTEL_SERVICE_NAME", "tools")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=hunter22")
    async with collecting() as collector:
        exporting = Exporting(collector.url, Counts(), "1")
        exporting.open()
        exporting.put(ended())
        await closed(exporting)
    assert collector.spans[0].resource["service.name"] == "tools"
    assert collector.asked[0].headers["x-key"] == "hunter22"


async def test_what_is_left_at_the_end_is_sent():
    async with collecting() as collector:
        exporting = Exporting(collector.url, Counts(), "1")
        exporting.open()
        for _ in range(1500):
            exporting.put(ended())
        await closed(exporting)
    assert len(collector.spans) == exporting.sent.spans == 1500


@pytest.mark.long
async def test_more_than_can_wait_is_counted_and_let_go():
    async with collecting() as collector:
        exporting = Exporting(collector.url, Counts(), "1")
        for _ in range(MOST_WAITING + 7):
            exporting.put(ended())
        assert exporting.sent.dropped == 7
        exporting.open()
        await closed(exporting)
    assert len(collector.spans) == MOST_WAITING


async def test_a_collector_that_is_not_there_costs_one_line(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(module, "TIMEOUT", 0.05)
    monkeypatch.setattr(module, "SPANS_EVERY", 0.01)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with caplog.at_level(logging.DEBUG, "bascule"), caplog.at_level(logging.WARNING):
        exporting = Exporting(f"http://127.0.0.1:{port}", Counts(), "1")
        exporting.open()
        for number in range(1, 4):
            exporting.put(ended())
            await until(lambda number=number: exporting.sent.dropped >= number)
        await closed(exporting)
    told = [record for record in caplog.records if record.name.startswith(("bascule", "opentelemetry"))]
    assert [record.name for record in told] == ["bascule.telemetry"]
    assert f"http://127.0.0.1:{port} takes nothing" in told[0].getMessage()
    assert exporting.sent.failures >= 3


async def test_a_collector_that_refuses_is_a_collector_that_takes_nothing():
    async with collecting() as collector:
        collector.status = "400 Bad Request"
        exporting = Exporting(collector.url, Counts(), "1")
        exporting.open()
        exporting.put(ended())
        await closed(exporting)
    assert (exporting.sent.spans, exporting.sent.dropped) == (0, 1)


async def test_a_collector_that_never_answers_does_not_keep_us(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "FAREWELL", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        exporting = Exporting(f"http://127.0.0.1:{silent.getsockname()[1]}", Counts(), "1")
        exporting.open()
        for _ in range(module.BATCH * 2):
            exporting.put(ended())
        await closed(exporting)
        assert exporting.sent.dropped >= module.BATCH
    # What it was at ends with the socket, so that nothing is left behind.
    await until(lambda: not exporting.running)


async def test_others_exporters_go_on_speaking(caplog: pytest.LogCaptureFixture):
    async with collecting() as collector:
        exporting = Exporting(collector.url, Counts(), "1")
        exporting.open()
        logging.getLogger("opentelemetry.exporter.otlp.proto.http.trace_exporter").error("of a user's own")
        await closed(exporting)
    assert "of a user's own" in caplog.text


def test_counts_are_sent_as_they_are():
    counts = Counts()
    counts.note(called(seconds=0.03))
    counts.note(called(failure(), seconds=400.0))
    data = metrics_data(FAMILIES, counts, Resource({}), InstrumentationScope("bascule"), (1, 2))
    metrics = {metric.name: metric for metric in data.resource_metrics[0].scope_metrics[0].metrics}
    duration = metrics["mcp.client.operation.duration"]
    assert isinstance(duration.data, Histogram)
    fine, slow = duration.data.data_points
    assert (fine.count, fine.sum, slow.count, slow.bucket_counts[-1]) == (1, 0.03, 1, 1)
    assert tuple(fine.explicit_bounds) == BOUNDS
    assert fine.attributes is not None
    assert "error.type" not in fine.attributes
    assert slow.attributes is not None
    assert slow.attributes["error.type"] == "timeout"
    errors = metrics["bascule.errors"].data
    assert isinstance(errors, Sum)
    assert errors.is_monotonic
    assert isinstance(metrics["bascule.calls.active"].data, Gauge)
    assert "bascule.refusals" not in metrics
    # The exporter can write it: what is not told, the least and the most, is left out.
    written = encode_metrics(data).resource_metrics[0].scope_metrics[0].metrics[0].histogram.data_points[0]
    assert not written.HasField("min")


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


def test_a_program_that_traces_itself_is_the_parent():
    context = SpanContext(7, 8, is_remote=False, trace_flags=TraceFlags(1), trace_state=TraceState([("a", "1")]))
    with use_span(NonRecordingSpan(context)):
        assert ambient() == TraceContext(7, 8, sampled=True, state="a=1")
    with use_span(NonRecordingSpan(SpanContext(7, 8, is_remote=False))):
        assert ambient() == TraceContext(7, 8, sampled=False)


def test_a_program_that_does_not_is_none():
    assert ambient() is None
