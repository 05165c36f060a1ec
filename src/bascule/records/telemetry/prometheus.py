"""Prometheus exposition of the metrics, and the page `/metrics` at an address of its own, which answers nothing
else."""

import asyncio
from collections.abc import Callable, Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from bascule.core.errors import ConfigError
from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.histogram import BOUNDS, Histogram
from bascule.records.telemetry.metrics import FAMILIES, Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

EDGES = (*(str(bound) for bound in BOUNDS), "+Inf")


def prometheus_name(name: str) -> str:
    """A name of the conventions as Prometheus writes it."""
    return name.replace(".", "_")


def exposition(counts: Counts, more: Iterable[Family] = ()) -> bytes:
    """All metrics, in the text format of Prometheus."""
    return generate_latest(_Counted(counts, (*FAMILIES, *more)))


class _Counted(Collector):
    def __init__(self, counts: Counts, families: Iterable[Family]) -> None:
        self._counts = counts
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return (_metric(family, self._counts) for family in self._families)


def _metric(family: Family, counts: Counts) -> Metric:
    labels = [prometheus_name(label) for label in family.labels]
    name = prometheus_name(family.name)
    if family.kind == "histogram":
        histogram = HistogramMetricFamily(f"{name}_seconds", family.help, labels=labels, unit="seconds")
        for values, found in family.read(counts):
            assert isinstance(found, Histogram)
            histogram.add_metric(values, _cumulative(found), found.total)
        return histogram
    kind = CounterMetricFamily if family.kind == "counter" else GaugeMetricFamily
    metric = kind(name, family.help, labels=labels)
    for values, found in family.read(counts):
        assert isinstance(found, int)
        metric.add_metric(values, found)
    return metric


def _cumulative(histogram: Histogram) -> list[tuple[str, float]]:
    sums: list[tuple[str, float]] = []
    total = 0
    for edge, count in zip(EDGES, tuple(histogram.buckets), strict=True):
        total += count
        sums.append((edge, total))
    return sums


PATH = b"/metrics"

LONGEST_HEAD = 16 * 1024
"""Bytes of a request. Whoever sends more is not Prometheus."""

PATIENCE = 5.0
"""Seconds for a whole request. Whoever dawdles is not Prometheus either."""

MOST_AT_ONCE = 16
"""Connections that are served at once; more are closed. Two or three may look at the same time, not hundreds."""

_HEAD = "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"


class ScrapePage:
    """Serves what `render` gives, over HTTP, at `/metrics`."""

    def __init__(self, render: Callable[[], bytes], kind: str) -> None:
        self._render = render
        self._kind = kind
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._rendering: asyncio.Future[bytes] | None = None

    async def open(self, host: str, port: int) -> int:
        """Listen. Gives the port. Raises `ConfigError` where that cannot be."""
        try:
            self._server = await asyncio.start_server(self._connected, host, port, limit=LONGEST_HEAD)
        except OSError as error:
            raise ConfigError(
                f"telemetry.prometheus: cannot listen at {host}:{port}: {error.strerror or type(error).__name__}",
                fix="stop what listens there, or name another address",
            ) from error
        return self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        if self._server is None:
            return
        self._server.close()
        for task in self._serving:
            task.cancel()
        if self._serving:
            await asyncio.wait(self._serving)
        self._server = None

    def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._serving) >= MOST_AT_ONCE:
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer), name="metrics")
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                await self._answer(reader, writer)
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        words = head.split(b"\r\n", 1)[0].split(b" ")
        if len(words) != 3 or words[0] not in {b"GET", b"HEAD"}:
            status, body = "405 Method Not Allowed", b"GET alone is answered\n"
        elif words[1].partition(b"?")[0] != PATH:
            status, body = "404 Not Found", b"the metrics are at /metrics\n"
        else:
            status, body = "200 OK", await self._page()
        kind = self._kind if status.startswith("200") else "text/plain"
        writer.write(_HEAD.format(status=status, kind=kind, length=len(body)).encode())
        if words[0] != b"HEAD":
            writer.write(body)
        await writer.drain()

    async def _page(self) -> bytes:
        """Made in another thread, so that no call waits for it; once for all who ask at the same time."""
        if self._rendering is None:
            self._rendering = asyncio.get_running_loop().run_in_executor(None, self._render)
            self._rendering.add_done_callback(self._rendered)
        return await asyncio.shield(self._rendering)

    def _rendered(self, _page: object) -> None:
        self._rendering = None
