import asyncio
import logging
import socket

import pytest

from bascule.records.telemetry import otlp as module
from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.finished import Finished, finished_call
from bascule.records.telemetry.otlp import MOST_WAITING, Exporting
from support.collector import collecting
from support.telling import OWN, called, span
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
