"""Counts as Prometheus reads them."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.histogram import BOUNDS, Histogram
from bascule.records.telemetry.metrics import FAMILIES, Family

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

EDGES = (*(str(bound) for bound in BOUNDS), "+Inf")


def prometheus_name(name: str) -> str:
    """A name of the conventions as Prometheus writes it."""
    return name.replace(".", "_")


def exposition(counts: Counts, more: Iterable[Family] = ()) -> bytes:
    """All of it, as text."""
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
