"""OTLP exporter: sends metrics and spans to an OpenTelemetry collector from a thread of its own. No call waits for it:
spans are made in that thread."""

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from math import inf
from typing import Protocol, cast

from opentelemetry import context as otel_context
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    HistogramDataPoint,
    Metric,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramData
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState, get_current_span

from bascule.config.urls import shown_url
from bascule.core.trace_context import TraceContext
from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.finished import Finished
from bascule.records.telemetry.histogram import BOUNDS, Histogram
from bascule.records.telemetry.labels import NETWORKS, PROTOCOLS
from bascule.records.telemetry.metrics import FAMILIES, Family, Sent, sent_families

SINCE_START = AggregationTemporality.CUMULATIVE

_UNTOLD = cast("float", None)
"""The least and the most since the start of a program say nothing about now."""


def metrics_data(
    families: Iterable[Family], counts: Counts, resource: Resource, scope: InstrumentationScope, times: tuple[int, int]
) -> MetricsData:
    """All metrics as OpenTelemetry sends them. `times` are the start of counting and the current time, in nanoseconds
    since the epoch."""
    metrics = [metric for family in families if (metric := _metric(family, counts, times)) is not None]
    return MetricsData([ResourceMetrics(resource, [ScopeMetrics(scope, metrics, "")], "")])


def _metric(family: Family, counts: Counts, times: tuple[int, int]) -> Metric | None:
    series = family.read(counts)
    if not series:
        return None
    points = [_point(dict(zip(family.labels, values, strict=True)), value, times) for values, value in series]
    if family.kind == "histogram":
        data = HistogramData([p for p in points if isinstance(p, HistogramDataPoint)], SINCE_START)
    else:
        numbers = [p for p in points if isinstance(p, NumberDataPoint)]
        data = Sum(numbers, SINCE_START, is_monotonic=True) if family.kind == "counter" else Gauge(numbers)
    return Metric(family.name, family.help, family.unit, data)


def _point(
    attributes: dict[str, str], value: int | Histogram, times: tuple[int, int]
) -> HistogramDataPoint | NumberDataPoint:
    # What is empty is not said at all.
    told = {name: text for name, text in attributes.items() if text}
    if isinstance(value, int):
        return NumberDataPoint(told, *times, value)
    buckets = tuple(value.buckets)
    return HistogramDataPoint(told, *times, sum(buckets), value.total, buckets, BOUNDS, _UNTOLD, _UNTOLD)


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


def ambient() -> TraceContext | None:
    """Trace context of the current OpenTelemetry span of the host program, if it has one."""
    found = get_current_span().get_span_context()
    if not found.is_valid:
        return None
    state = found.trace_state.to_header() if found.trace_state else ""
    return TraceContext(found.trace_id, found.span_id, found.trace_flags.sampled, state)


MOST_WAITING = 4096
"""Spans that wait to be sent. A collector that hangs must not make us hold all that is done."""

BATCH = 512
"""Spans that are sent together."""

SPANS_EVERY = 1.0
"""Seconds for which spans are gathered."""

METRICS_EVERY = 60.0
"""Seconds between two tellings of the counts. At the end they are told once more."""

TIMEOUT = 5.0
"""Seconds that a collector has for one batch, tries included."""

FAREWELL = 5.0
"""Seconds that the end of a runtime waits for what is still to be sent."""

COMPLAIN_EVERY = 300.0
"""Seconds between two lines about a collector that takes nothing."""

_log = logging.getLogger("bascule.telemetry")

_EXPORTERS = tuple(
    logging.getLogger(f"opentelemetry.exporter.otlp.proto.http.{name}")
    for name in ("trace_exporter", "metric_exporter")
)


class Exporting:
    """One collector, and what is to be sent to it."""

    def __init__(self, address: str, counts: Counts, version: str, clock: Callable[[], float] = time.time) -> None:
        base = address.rstrip("/")
        self.sent = Sent()
        self._shown = shown_url(address)
        self._counts = counts
        self._clock = clock
        self._began = int(clock() * 1e9)
        self._spans = OTLPSpanExporter(f"{base}/v1/traces", timeout=TIMEOUT)
        self._metrics: _TakesMetrics = OTLPMetricExporter(f"{base}/v1/metrics", timeout=TIMEOUT)
        self._resource = _resource(version)
        self._scope = InstrumentationScope("bascule", version)
        self._waiting: deque[Finished] = deque()
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._complained = -inf
        # A daemon: a collector that never answers must not keep a program from ending.
        self._thread = threading.Thread(target=self._run, name="bascule telemetry", daemon=True)
        self._quiet = _Quiet(self._thread)

    def open(self) -> None:
        for logger in _EXPORTERS:
            logger.addFilter(self._quiet)
        self._thread.start()

    @property
    def opened(self) -> bool:
        return self._thread.ident is not None

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def put(self, ended: Finished) -> None:
        """Have a span sent, unless too many wait."""
        if len(self._waiting) >= MOST_WAITING:
            self.sent.dropped += 1
            return
        self._waiting.append(ended)
        if len(self._waiting) == BATCH:
            self._wake.set()

    def close(self) -> None:
        """Send what is left, for as long as that may take. Blocks."""
        self._ending.set()
        self._wake.set()
        self._thread.join(FAREWELL)
        if self.running:
            left = len(self._waiting)
            self._waiting.clear()
            self.sent.dropped += left
            _log.warning("the collector at %s took too long: %d spans were not sent", self._shown, left)
        self._spans.shutdown()
        self._metrics.shutdown()
        if not self.running:
            for logger in _EXPORTERS:
                logger.removeFilter(self._quiet)

    def _run(self) -> None:
        told_at = self._clock()
        with _unobserved():
            while not self._ending.is_set():
                self._wake.wait(SPANS_EVERY)
                self._wake.clear()
                self._send_spans()
                if self._clock() - told_at >= METRICS_EVERY:
                    told_at = self._clock()
                    self._send_metrics()
            self._send_spans()
            self._send_metrics()

    def _send_spans(self) -> None:
        """All that wait now."""
        for _ in range(0, len(self._waiting), BATCH):
            batch = self._next_batch()
            made = [span_of(ended, self._resource, self._scope) for ended in batch]
            if self._spans.export(made) is SpanExportResult.SUCCESS:
                self.sent.spans += len(batch)
            else:
                self.sent.dropped += len(batch)
                self._complain()

    def _next_batch(self) -> list[Finished]:
        batch: list[Finished] = []
        # At the end, whoever waits for us may take them away.
        with suppress(IndexError):
            while len(batch) < BATCH:
                batch.append(self._waiting.popleft())
        return batch

    def _send_metrics(self) -> None:
        families = (*FAMILIES, *sent_families(self.sent))
        now = int(self._clock() * 1e9)
        data = metrics_data(families, self._counts, self._resource, self._scope, (self._began, now))
        if self._metrics.export(data) is not MetricExportResult.SUCCESS:
            self._complain()

    def _complain(self) -> None:
        self.sent.failures += 1
        now = time.monotonic()
        if now - self._complained >= COMPLAIN_EVERY:
            self._complained = now
            _log.warning(
                "the collector at %s takes nothing; spans are let go (%d so far)", self._shown, self.sent.dropped
            )


def _resource(version: str) -> Resource:
    """Who sends. What the environment says of that has the last word."""
    own = {"service.name": "bascule", "service.version": version, "service.instance.id": str(uuid.uuid4())}
    return Resource.create({**own, **OTELResourceDetector().detect().attributes})


class _TakesMetrics(Protocol):
    def export(self, metrics_data: MetricsData) -> MetricExportResult: ...
    def shutdown(self) -> None: ...


class _Quiet(logging.Filter):
    """Keeps the exporters from saying, with every batch, what we say now and then; those of others speak on."""

    def __init__(self, thread: threading.Thread) -> None:
        super().__init__()
        self._thread = thread

    def filter(self, record: logging.LogRecord) -> bool:
        return record.thread != self._thread.ident


@contextmanager
def _unobserved() -> Generator[None]:
    """A program whose HTTP requests are traced is not told of those that carry traces."""
    key = getattr(otel_context, "_SUPPRESS_INSTRUMENTATION_KEY", None)
    token = None if key is None else otel_context.attach(otel_context.set_value(key, value=True))
    try:
        yield
    finally:
        if token is not None:
            otel_context.detach(token)
