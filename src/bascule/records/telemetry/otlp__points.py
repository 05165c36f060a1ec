"""Counts as OpenTelemetry sends them."""

from collections.abc import Iterable
from typing import cast

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as HistogramData
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.histogram import BOUNDS, Histogram
from bascule.records.telemetry.metrics import Family

SINCE_START = AggregationTemporality.CUMULATIVE

_UNTOLD = cast("float", None)
"""The least and the most since the start of a program say nothing about now."""


def metrics_data(
    families: Iterable[Family], counts: Counts, resource: Resource, scope: InstrumentationScope, times: tuple[int, int]
) -> MetricsData:
    """All of it; `times` are when counting began and what time it is, in nanoseconds since the epoch."""
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
