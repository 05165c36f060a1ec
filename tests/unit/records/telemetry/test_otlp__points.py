from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.metrics.export import Gauge, Histogram, Sum
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.histogram import BOUNDS
from bascule.records.telemetry.metrics import FAMILIES
from bascule.records.telemetry.otlp import metrics_data
from support.telling import called, failure


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
