"""A collector of OpenTelemetry on this machine: what is sent to it over OTLP, taken apart."""

import asyncio
import gzip
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from support.http_servers import Asked, http_reply, raw_server
from support.waiting import until

KINDS = {2: "server", 3: "client"}
FAILED = 2


@dataclass(frozen=True)
class Collected:
    """One span."""

    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    state: str
    attributes: dict[str, Any]
    failed: bool
    described: str
    seconds: float
    resource: dict[str, Any]


@dataclass
class Collector:
    """What has come so far. `status` is what it answers from now on."""

    url: str = ""
    spans: list[Collected] = field(default_factory=list[Collected])
    metrics: dict[str, list[tuple[dict[str, Any], Any]]] = field(default_factory=dict[str, Any])
    """The newest points of each metric: their attributes, and a number or, of a histogram, how many."""
    asked: list[Asked] = field(default_factory=list[Asked])
    status: str = "200 OK"

    @property
    def raw(self) -> bytes:
        """Every byte that came, headers too."""
        return b"\n".join(repr(each.headers).encode() + each.body for each in self.asked)

    async def wait_for(self, count: int) -> list[Collected]:
        await until(lambda: len(self.spans) >= count)
        return self.spans

    async def answer(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        body = gzip.decompress(asked.body) if asked.headers.get("content-encoding") == "gzip" else asked.body
        self.asked.append(Asked(asked.method, asked.path, asked.headers, body))
        if self.status.startswith("200"):
            if asked.path == "/v1/traces":
                self._take_spans(body)
            elif asked.path == "/v1/metrics":
                self._take_metrics(body)
            else:
                raise AssertionError(f"nobody sends to {asked.path}")
        writer.write(http_reply(b"", self.status, "application/x-protobuf"))

    def _take_spans(self, body: bytes) -> None:
        for part in ExportTraceServiceRequest.FromString(body).resource_spans:
            resource = _told(part.resource.attributes)
            for span in (span for scope in part.scope_spans for span in scope.spans):
                self.spans.append(
                    Collected(
                        span.name,
                        KINDS[span.kind],
                        span.trace_id.hex(),
                        span.span_id.hex(),
                        span.parent_span_id.hex(),
                        span.trace_state,
                        _told(span.attributes),
                        span.status.code == FAILED,
                        span.status.message,
                        (span.end_time_unix_nano - span.start_time_unix_nano) / 1e9,
                        resource,
                    )
                )

    def _take_metrics(self, body: bytes) -> None:
        for part in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            for metric in (metric for scope in part.scope_metrics for metric in scope.metrics):
                points: Any = getattr(metric, metric.WhichOneof("data") or "").data_points
                self.metrics[metric.name] = [
                    (_told(point.attributes), point.count if hasattr(point, "bucket_counts") else point.as_int)
                    for point in points
                ]


def _told(attributes: Any) -> dict[str, Any]:
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "string_value") for pair in attributes}


@asynccontextmanager
async def collecting() -> AsyncGenerator[Collector]:
    collector = Collector()
    async with raw_server(collector.answer) as server:
        collector.url = f"http://127.0.0.1:{server.port}"
        yield collector
