import asyncio
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, use_span

from bascule.config import TelemetrySettings
from bascule.core.errors import ConfigError
from bascule.core.trace_context import CURRENT_SPAN, Span, TraceContext
from bascule.records.telemetry.finished import Finished
from bascule.records.telemetry.labels import ServerLabels
from bascule.records.telemetry.telemetry import Telemetry
from support.collector import Collector, collecting
from support.kit_http import line_to
from support.ports import free_port
from support.telling import called

FAR = TraceContext(0xA, 0xB, state="x=1")


@asynccontextmanager
async def traced() -> AsyncGenerator[tuple[Telemetry, Collector]]:
    async with collecting() as collector:
        telemetry = Telemetry(TelemetrySettings(otlp=collector.url), "1")
        await telemetry.open()
        try:
            yield telemetry, collector
        finally:
            await telemetry.close()


async def test_a_call_in_the_course_of_another_is_its_child():
    async with traced() as (telemetry, _):
        outer = telemetry.begin()
        inner = telemetry.begin()
        assert outer.context is not None
        assert inner.context is not None
        assert (outer.parent, inner.parent) == (None, outer.context)
        assert inner.context.trace_id == outer.context.trace_id
        assert inner.context.span_id != outer.context.span_id
        assert telemetry.counts.active == 2
        telemetry.leave(inner)
        assert CURRENT_SPAN.get() is outer
        telemetry.leave(outer)
        assert CURRENT_SPAN.get() is None
        assert telemetry.counts.active == 0


async def test_a_call_is_the_child_of_the_programs_own_span():
    async with traced() as (telemetry, _):
        with use_span(NonRecordingSpan(SpanContext(7, 8, is_remote=False, trace_flags=TraceFlags(1)))):
            span = telemetry.begin()
        telemetry.leave(span)
        assert span.parent == TraceContext(7, 8)


async def test_a_trace_that_its_beginner_does_not_want_to_see_is_passed_on_and_not_sent():
    async with traced() as (telemetry, collector):
        for sampled in (False, True):
            span = telemetry.begin_serving(TraceContext(0xA, 0xB, sampled=sampled))
            assert span.context is not None
            assert span.context.sampled is sampled
            ended = Finished("server", "tools/list", span.context, span.parent, 1.0, 0.5)
            telemetry.served(span, ServerLabels("tools/list"), ended, 0.5)
            telemetry.note(called(span=span))
    assert len(collector.spans) == 2
    assert telemetry.counts.server.series[ServerLabels("tools/list")].count == 2


async def test_the_state_of_a_trace_goes_on_with_it():
    async with traced() as (telemetry, _):
        span = telemetry.begin_serving(FAR)
        inner = telemetry.begin()
        assert inner.context is not None
        assert (inner.context.trace_id, inner.context.state) == (0xA, "x=1")
        telemetry.leave(inner)
        telemetry.served(span, ServerLabels("tools/list"), None, 0.5)
        assert telemetry.counts.serving == 0


async def test_who_makes_no_spans_passes_the_callers_place_on():
    telemetry = Telemetry(TelemetrySettings(prometheus=f"127.0.0.1:{free_port()}"), "1")
    await telemetry.open()
    try:
        assert not telemetry.traces
        span = telemetry.begin_serving(FAR)
        inner = telemetry.begin()
        assert inner.context == FAR
        telemetry.leave(inner)
        telemetry.served(span, ServerLabels("tools/list"), None, 0.5)
        alone = telemetry.begin()
        assert alone.context is None
        telemetry.leave(alone)
    finally:
        await telemetry.close()


async def test_the_metrics_are_served_while_it_is_open():
    telemetry = Telemetry(TelemetrySettings(prometheus=f"127.0.0.1:{free_port()}"), "1")
    await telemetry.open()
    telemetry.note(called())
    assert telemetry.port is not None
    async with line_to(telemetry.port) as line:
        answer = await line.send(ask="GET /metrics HTTP/1.1")
    await telemetry.close()
    assert b'gen_ai_tool_name="work_act"' in answer.body
    assert b"bascule_telemetry" not in answer.body
    assert telemetry.port is None


async def test_spans_of_calls_at_the_same_time_do_not_mix():
    async with traced() as (telemetry, _):
        both = asyncio.Barrier(2)

        async def call() -> Span:
            span = telemetry.begin()
            await both.wait()
            assert CURRENT_SPAN.get() is span
            telemetry.leave(span)
            return span

        one, other = await asyncio.gather(call(), call())
        assert one.context is not None
        assert other.context is not None
        assert one.context.trace_id != other.context.trace_id


@pytest.mark.parametrize(
    ("settings", "package"),
    [
        (TelemetrySettings(otlp="http://127.0.0.1:1"), "opentelemetry"),
        (TelemetrySettings(prometheus="127.0.0.1:1"), "prometheus_client"),
    ],
)
async def test_a_package_that_is_missing_is_told_with_the_command_that_installs_it(
    settings: TelemetrySettings, package: str, monkeypatch: pytest.MonkeyPatch
):
    for name in [name for name in sys.modules if name.startswith((package, "bascule.records.telemetry"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Lacking(package), *sys.meta_path])
    with pytest.raises(ConfigError) as caught:
        await Telemetry(settings, "1").open()
    assert "pip install 'bascule[otel]'" in caught.value.fix


class Lacking:
    """Finds everything but one package."""

    def __init__(self, package: str) -> None:
        self._package = package

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == self._package:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
