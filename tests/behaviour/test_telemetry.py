"""Spans and metrics by the conventions, from the client through the gateway to the server."""

import json
import re
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from opentelemetry.sdk.trace import TracerProvider
from prometheus_client.parser import text_string_to_metric_families

from bascule import Runtime
from support.collector import Collected, Collector, collecting
from support.command import bascule, started
from support.gateways import ask, introduced
from support.kit_http import line_to
from support.ports import free_port
from support.scenarios import entry, write_yaml
from support.waiting import fail_after, until
from support.warm import python
from support.workers import fleet

DOCS = (Path(__file__).parents[2] / "docs/reference/metrics.md").read_text()

REPORTER = '''
from mcp.server import MCPServer
from mcp.server.mcpserver import Context

server = MCPServer("reporter")


@server.tool()
def report(ctx: Context) -> dict:
    """Tells what came in `_meta`."""
    return {"meta": dict(ctx.request_context.meta or {})}


@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("no")


@server.prompt()
def greet() -> str:
    """Greets."""
    return "hello"


server.run()
'''
"""A server of the official SDK."""

TRACE, SPAN = "a" * 32, "b" * 16
PARENT = f"00-{TRACE}-{SPAN}-01"


@asynccontextmanager
async def served(folder: Path, collector: Collector, *words: str, **top: Any) -> AsyncGenerator[tuple[int, int]]:
    """`bascule serve` before that server. Gives its port, and that of its metrics."""
    (folder / "reporter.py").write_text(REPORTER)
    port, metrics = free_port(), free_port()
    servers = {
        "sdk": {"command": python(), "args": [str(folder / "reporter.py")]},
        "work": entry("obeying", folder / "log"),
    }
    telemetry = {"otlp": collector.url, "prometheus": f"127.0.0.1:{metrics}"}
    path = write_yaml(folder, servers, gateway={"port": port}, telemetry=telemetry, **top)
    command = ("serve", "--dev", "--config", str(path), "--json", *words)
    async with started(folder, *command) as process, fail_after(90, "a gateway"):
        assert process.stdout is not None
        assert json.loads(await process.stdout.readline())["servers"] == 2
        yield port, metrics
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0


def of_kind(spans: list[Collected], kind: str) -> Collected:
    (found,) = [span for span in spans if span.kind == kind]
    return found


@pytest.mark.requirement("OBS-1", "EXE-1")
async def test_one_trace_leads_from_the_client_through_the_gateway_to_the_server(tmp_path: Path):
    async with collecting() as collector:
        async with served(tmp_path, collector) as (port, _), line_to(port) as line:
            meta = {"traceparent": PARENT, "tracestate": "vendor=1", "baggage": "user=alice"}
            said = await ask(line, "tools/call", {"name": "sdk_report", "_meta": meta})
        reported = json.loads(said.text)["meta"]
        client, server = of_kind(collector.spans, "client"), of_kind(collector.spans, "server")
    assert (server.name, server.trace_id, server.parent_id) == ("tools/call sdk_report", TRACE, SPAN)
    assert (client.name, client.trace_id, client.parent_id) == ("tools/call sdk_report", TRACE, server.span_id)
    assert reported["traceparent"] == f"00-{TRACE}-{client.span_id}-01"
    assert reported["tracestate"] == "vendor=1"
    assert "baggage" not in reported
    assert client.attributes["mcp.method.name"] == "tools/call"
    assert client.attributes["gen_ai.operation.name"] == "execute_tool"
    assert client.attributes["gen_ai.tool.name"] == "sdk_report"
    assert client.attributes["network.transport"] == "pipe"
    assert client.attributes["mcp.protocol.version"]
    assert client.attributes["bascule.server"] == "sdk"
    assert client.attributes["bascule.own_name"] == "report"
    assert server.seconds >= client.seconds > 0


@pytest.mark.requirement("OBS-1")
async def test_a_trace_of_the_connection_counts_where_the_message_names_none(tmp_path: Path):
    async with collecting() as collector:
        async with served(tmp_path, collector) as (port, _), line_to(port) as line:
            session = await introduced(line)
            params = {"name": "work_act"}
            await ask(line, "tools/call", params, new=False, Mcp_Session_Id=session, traceparent=PARENT)
            await ask(line, "tools/call", params, traceparent="nonsense")
        first, second = (span for span in collector.spans if span.kind == "server" and "work_act" in span.name)
    assert (first.trace_id, first.parent_id) == (TRACE, SPAN)
    assert second.trace_id != TRACE
    assert second.parent_id == ""


@pytest.mark.requirement("OBS-1")
@pytest.mark.long
async def test_every_call_is_one_span_however_it_ends_and_what_failed_says_how(tmp_path: Path):
    calls: list[tuple[str, dict[str, Any], str]] = [
        ("sdk_report", {}, ""),
        ("sdk_fail", {}, "tool_error"),
        ("work_act", {"error": {"code": -32603, "message": "no"}}, "-32603"),
        ("work_act", {"exit": 3}, "connection_error"),
        ("nothing", {}, "unknown_tool"),
    ]
    async with collecting() as collector:
        async with served(tmp_path, collector) as (port, _), line_to(port) as line:
            for name, arguments, _ in calls:
                await ask(line, "tools/call", {"name": name, "arguments": arguments})
        spans = [span for span in collector.spans if span.kind == "client"]
    assert [span.attributes.get("error.type", "") for span in spans] == [error for *_, error in calls]
    assert [span.failed for span in spans] == [bool(error) for *_, error in calls]
    assert len([span for span in collector.spans if span.kind == "server"]) == len(calls)


def documented(heading: str) -> set[str]:
    """What stands in the first column of the table under a heading of the page."""
    part = DOCS.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return {found[1] for found in re.finditer(r"^\| `([^`]+)`", part, re.MULTILINE)}


@pytest.mark.requirement("OBS-1")
@pytest.mark.long
async def test_the_page_lists_what_is_really_exported(tmp_path: Path):
    async with collecting() as collector, served(tmp_path, collector) as (port, metrics), line_to(port) as line:
        for name, arguments in (("sdk_report", {}), ("sdk_fail", {}), ("work_act", {"error": {"code": -32603}})):
            await ask(line, "tools/call", {"name": name, "arguments": arguments})
        await ask(line, "prompts/get", {"name": "sdk_greet"})
        await ask(line, "tools/call", {"name": "work_act", "arguments": {"exit": 3}})
        await ask(line, "tools/call", {"name": "work_act"})
        async with line_to(metrics) as page:
            scraped = (await page.send(ask="GET /metrics HTTP/1.1")).body.decode()
    families = {family.name: family for family in text_string_to_metric_families(scraped)}
    listed = documented("Metrics")
    assert {name.replace(".", "_").removesuffix("_seconds") for name in listed} == {
        name.removesuffix("_seconds") for name in families
    }
    assert set(collector.metrics) <= listed
    attributes = {name for span in collector.spans for name in span.attributes}
    steps = {name for name in attributes if name.startswith("bascule.step.")}
    assert attributes - steps <= documented("Spans")
    # What only a refusal, or no call above, brings.
    assert documented("Spans") - attributes == {"bascule.rule", "bascule.step.…"}
    labels = {name for family in families.values() for sample in family.samples for name in sample.labels} - {"le"}
    assert labels <= {name.replace(".", "_") for name in documented("Labels")}
    durations = {
        tuple(sample.labels[name] for name in ("gen_ai_tool_name", "error_type")): sample.value
        for sample in families["mcp_client_operation_duration_seconds"].samples
        if sample.name.endswith("_count") and sample.labels["mcp_method_name"] == "tools/call"
    }
    assert durations["sdk_report", ""] == 1
    assert durations["sdk_fail", "tool_error"] == 1
    restarts = families["bascule_link_restarts"].samples
    assert [(sample.labels, sample.value) for sample in restarts] == [({"bascule_server": "work"}, 1)]


@pytest.mark.requirement("OBS-1")
async def test_the_calls_of_a_program_are_children_of_its_own_spans(tmp_path: Path):
    async with collecting() as collector:
        path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")}, telemetry={"otlp": collector.url})
        async with fail_after(30), Runtime.from_file(path) as runtime:
            tracer = TracerProvider().get_tracer("a program of somebody's")
            with tracer.start_as_current_span("work") as own:
                assert (await runtime.session("alice", "s-1").call("work_act")).ok
            assert (await runtime.session("alice", "s-1").call("work_act")).ok
        inside, outside = collector.spans
    context = own.get_span_context()
    assert inside.trace_id == f"{context.trace_id:032x}"
    assert inside.parent_id == f"{context.span_id:016x}"
    assert outside.trace_id != inside.trace_id


@pytest.mark.requirement("OBS-1")
async def test_a_gateway_says_whether_it_is_ready(tmp_path: Path):
    async with collecting() as collector, served(tmp_path, collector) as (port, _), line_to(port) as line:
        ready = await line.send(ask="GET /readyz HTTP/1.1")
    assert ready.status == 200
    assert ready.message == {"ready": True, "reasons": []}


@pytest.mark.requirement("OBS-1")
@pytest.mark.long
async def test_what_is_logged_names_the_trace_that_it_belongs_to(tmp_path: Path):
    port = free_port()
    servers = {
        "work": entry(
            "obeying", tmp_path / "log", raises={"act": "secret"}, vouched="secret", permissions={"act": "read"}
        )
    }
    async with collecting() as collector:
        path = write_yaml(tmp_path, servers, gateway={"port": port}, telemetry={"otlp": collector.url})
        command = ("serve", "--dev", "--config", str(path), "--json")
        env = {"BASCULE_LOG": "json"}
        async with started(tmp_path, *command, env=env) as process, fail_after(60, "a gateway"):
            assert process.stdout is not None
            assert process.stderr is not None
            await process.stdout.readline()
            async with line_to(port) as line:
                await ask(line, "tools/call", {"name": "work_act", "_meta": {"traceparent": PARENT}})
            process.send_signal(signal.SIGINT)
            lines = [json.loads(line) for line in (await process.stderr.read()).splitlines()]
            assert await process.wait() == 0
    assert all({"time", "level", "logger", "message"} <= line.keys() for line in lines)
    (raised,) = [line for line in lines if "trace_id" in line]
    (client,) = [span for span in collector.spans if span.kind == "client"]
    assert (raised["trace_id"], raised["span_id"]) == (TRACE, client.span_id)


@pytest.mark.requirement("OBS-1")
@pytest.mark.long
async def test_a_command_beside_a_gateway_serves_no_metrics(tmp_path: Path):
    async with collecting() as collector:
        async with served(tmp_path, collector):
            ran = await bascule(tmp_path, "call", "work_act", "--config", str(tmp_path / "bascule.yaml"))
            assert ran.code == 0, ran.err
        await until(lambda: any(span.kind == "client" for span in collector.spans))


@pytest.mark.requirement("OBS-1")
@pytest.mark.parametrize("telemetry", [{"otlp": "x"}, {"prometheus": "9464"}, {"promtheus": "127.0.0.1:9464"}])
async def test_settings_that_cannot_be_are_told(tmp_path: Path, telemetry: dict[str, str]):
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")}, telemetry=telemetry)
    ran = await bascule(tmp_path, "list", "--config", str(path))
    assert ran.code == 2
    assert "telemetry." in ran.err


@pytest.mark.long
async def test_each_worker_serves_its_own_metrics_at_a_port_of_its_own(tmp_path: Path):
    port = free_port(2)
    telemetry = {"prometheus": f"127.0.0.1:{port}"}
    async with (
        fleet(tmp_path / "fleet", {"work": entry("obeying", tmp_path / "log")}, "--log", "json", telemetry=telemetry),
        aiohttp.ClientSession() as http,
    ):
        for each in (port, port + 1):
            async with http.get(f"http://127.0.0.1:{each}/metrics") as answer:
                assert answer.status == 200
                assert "bascule" in await answer.text()
