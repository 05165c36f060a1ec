from prometheus_client.parser import text_string_to_metric_families

from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.labels import ClientLabels
from bascule.records.telemetry.metrics import FAMILIES, Sent, sent_families
from bascule.records.telemetry.prometheus import exposition, prometheus_name
from support.telling import called, failure


def test_what_is_served_is_what_was_counted():
    counts = Counts()
    for event in (called(seconds=0.03), called(seconds=7.0), called(failure())):
        counts.note(event)
    found = {family.name: family for family in text_string_to_metric_families(exposition(counts).decode())}
    duration = found["mcp_client_operation_duration_seconds"]
    assert duration.type == "histogram"
    fine = [sample for sample in duration.samples if sample.labels["error_type"] == ""]
    buckets = {sample.labels["le"]: sample.value for sample in fine if sample.name.endswith("_bucket")}
    assert (buckets["0.02"], buckets["0.05"], buckets["5.0"], buckets["10.0"], buckets["+Inf"]) == (0, 1, 1, 2, 2)
    assert [sample.value for sample in fine if sample.name.endswith(("_count", "_sum"))] == [2, 7.03]
    errors = found["bascule_errors"]
    assert [(sample.labels, sample.value) for sample in errors.samples] == [
        ({"bascule_failure_kind": "timeout", "bascule_server": "work"}, 1)
    ]


def test_every_metric_is_served_also_before_anything_happened():
    names = {
        family.name for family in text_string_to_metric_families(exposition(Counts(), sent_families(Sent())).decode())
    }
    assert len(names) == len(FAMILIES) + 3
    assert prometheus_name("bascule.links") in names


def test_odd_names_break_nothing():
    counts = Counts()
    counts.client.add(ClientLabels("tools/call", 'a"b\\c\nd{e}'), 1.0)
    families = text_string_to_metric_families(exposition(counts).decode())
    duration = next(family for family in families if family.name == "mcp_client_operation_duration_seconds")
    assert {sample.labels["gen_ai_tool_name"] for sample in duration.samples} == {'a"b\\c\nd{e}'}
