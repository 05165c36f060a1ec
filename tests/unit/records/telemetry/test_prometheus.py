"""Prometheus exposition, and its HTTP page."""

import asyncio
import socket
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bascule.core.errors import ConfigError
from bascule.records.telemetry import prometheus
from bascule.records.telemetry.counters import Counts
from bascule.records.telemetry.labels import ClientLabels
from bascule.records.telemetry.metrics import FAMILIES, Sent, sent_families
from bascule.records.telemetry.prometheus import LONGEST_HEAD, ScrapePage, exposition, prometheus_name
from support.telling import called, failure
from support.waiting import fail_after, until


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


@asynccontextmanager
async def paged(render: Callable[[], bytes] = lambda: b"counts\n") -> AsyncGenerator[int]:
    page = ScrapePage(render, "text/plain; version=0.0.4")
    port = await page.open("127.0.0.1", 0)
    try:
        yield port
    finally:
        await page.close()


async def said(port: int, data: bytes) -> bytes:
    async with fail_after(20, "an answer"):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(data)
        answer = await reader.read()
        writer.close()
    return answer


async def test_the_counts_are_at_one_path():
    async with paged() as port:
        answer = await said(port, b"GET /metrics?x=1 HTTP/1.1\r\nHost: a\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: 7\r\n")
    assert answer.endswith(b"\r\n\r\ncounts\n")


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        (b"GET / HTTP/1.1", b"404"),
        (b"GET /metricsx HTTP/1.1", b"404"),
        (b"POST /metrics HTTP/1.1", b"405"),
        (b"nonsense", b"405"),
    ],
)
async def test_nothing_else_is_answered(asked: bytes, status: bytes):
    async with paged() as port:
        answer = await said(port, asked + b"\r\n\r\n")
    assert answer.split(b" ")[1] == status
    assert b"counts" not in answer


async def test_a_look_without_the_body_gets_the_head():
    async with paged() as port:
        assert (await said(port, b"HEAD /metrics HTTP/1.1\r\n\r\n")).endswith(b"\r\n\r\n")


async def test_who_never_ends_is_not_listened_to(monkeypatch: pytest.MonkeyPatch):
    async with paged() as port:
        assert await said(port, b"x" * (LONGEST_HEAD * 4)) == b""
        monkeypatch.setattr(prometheus, "PATIENCE", 0.05)
        assert await said(port, b"GET /met") == b""


async def test_a_crowd_is_turned_away_and_then_served_again():
    async with paged() as port:
        crowd = [await asyncio.open_connection("127.0.0.1", port) for _ in range(prometheus.MOST_AT_ONCE)]
        async with fail_after(20, "a turn away"):
            while await said(port, b"GET /metrics HTTP/1.1\r\n\r\n"):  # the last of the crowd may not be in yet
                pass
        for _, writer in crowd:
            writer.close()
        async with fail_after(20, "an answer"):
            while not await said(port, b"GET /metrics HTTP/1.1\r\n\r\n"):
                pass


async def test_who_asks_at_the_same_time_is_told_the_same_and_the_loop_goes_on():
    enough, made = threading.Event(), list[str]()

    def render() -> bytes:
        made.append(threading.current_thread().name)
        assert enough.wait(20)
        return b"once\n"

    async with paged(render) as port:
        asking = [asyncio.create_task(said(port, b"GET /metrics HTTP/1.1\r\n\r\n")) for _ in range(5)]
        await until(lambda: bool(made))
        enough.set()
        answers = await asyncio.gather(*asking)
    assert all(answer.endswith(b"once\n") for answer in answers)
    assert threading.main_thread().name not in made


async def test_an_address_that_is_taken_is_told():
    told = pytest.raises(ConfigError, match=r"telemetry\.prometheus: cannot listen")
    with socket.create_server(("127.0.0.1", 0)) as taken, told as caught:
        await ScrapePage(lambda: b"", "").open("127.0.0.1", taken.getsockname()[1])
    assert caught.value.fix


async def test_nothing_is_left_at_its_end():
    page = ScrapePage(lambda: b"", "")
    port = await page.open("127.0.0.1", 0)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await page.close()
    await page.close()
    with pytest.raises(OSError, match=r"."):
        await asyncio.open_connection("127.0.0.1", port)
    writer.close()
