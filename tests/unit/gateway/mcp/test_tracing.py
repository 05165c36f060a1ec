from pathlib import Path
from typing import Any

import pytest

from bascule.config import TelemetrySettings
from bascule.gateway.auth import Callers
from bascule.gateway.http.headers import Head
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.tracing import TracedDesk, trace_of, version_of
from bascule.records.telemetry.labels import RPC_ERROR, UNKNOWN, ServerLabels
from support.collector import Collector, collecting
from support.gateways import ALICE, ask, line_to, serving
from support.kit_http import NEW, OLD
from support.ports import free_port
from support.runtime import calls_in, obeying, running

PARENT = f"00-{'a' * 32}-{'b' * 16}-01"
FAILED = {"isError": True, "content": [{"type": "text", "text": "hunter22"}], "resultType": "complete"}
OTHER = f"00-{'c' * 32}-{'d' * 16}-01"


def asked(meta: dict[str, Any] | None = None, **head: Any) -> Asked:
    return Asked("tools/list", {}, 1, meta or {}, head=Head(**head))


def parent_of(found: Asked) -> str | None:
    trace = trace_of(found)
    return None if trace is None else trace.traceparent


def test_what_the_message_says_counts_before_what_its_connection_says():
    assert parent_of(asked({"traceparent": PARENT}, traceparent=OTHER)) == PARENT
    assert parent_of(asked({}, traceparent=OTHER)) == OTHER
    assert parent_of(asked({"traceparent": "nonsense"}, traceparent=OTHER)) == OTHER
    assert parent_of(Asked("tools/list", {}, 1)) is None


def test_only_versions_that_are_spoken_are_repeated():
    assert version_of(asked({"io.modelcontextprotocol/protocolVersion": NEW})) == NEW
    assert version_of(asked(version=OLD)) == OLD
    assert version_of(asked(version="hunter22")) == ""
    assert version_of(asked({"io.modelcontextprotocol/protocolVersion": 5})) == ""


async def test_only_a_gateway_that_is_watched_has_such_desks():
    settings = TelemetrySettings(prometheus=f"127.0.0.1:{free_port()}")
    for telemetry in (TelemetrySettings(), settings):
        async with running(telemetry=telemetry) as runtime:
            desk = await Callers(runtime, None, lambda: 0.0, development=ALICE).find("")
            assert isinstance(desk, TracedDesk) is bool(telemetry)


async def spans_of(folder: Path, method: str, params: dict[str, Any], **how: Any) -> Collector:
    async with collecting() as collector:
        telemetry = TelemetrySettings(otlp=collector.url)
        async with serving(obeying(folder / "log"), telemetry=telemetry) as gateway, line_to(gateway.port) as line:
            await ask(line, method, params, **how)
    return collector


async def test_a_call_is_two_spans_in_the_trace_of_its_client(tmp_path: Path):
    meta = {"traceparent": PARENT, "tracestate": "x=1", "baggage": "user=hunter22"}
    collector = await spans_of(tmp_path, "tools/call", {"name": "work_act", "_meta": meta})
    client, server = sorted(collector.spans, key=lambda span: span.kind)
    assert (server.kind, server.name, server.parent_id) == ("server", "tools/call work_act", "b" * 16)
    assert (client.kind, client.name, client.parent_id) == ("client", "tools/call work_act", server.span_id)
    assert {client.trace_id, server.trace_id} == {"a" * 32}
    told = calls_in(tmp_path / "log")[0]["_meta"]
    assert told["traceparent"] == f"00-{'a' * 32}-{client.span_id}-01"
    assert told["tracestate"] == "x=1"
    assert "baggage" not in told
    assert server.attributes["jsonrpc.request.id"] == "1"


@pytest.mark.parametrize(
    ("method", "params", "error", "failure"),
    [
        ("tools/call", {"name": "nothing_of_the_kind"}, "-32602", "unknown_tool"),
        ("tools/call", {"name": "work_act", "arguments": {"result": FAILED}}, "tool_error", "tool_error"),
        (
            "tools/call",
            {"name": "work_act", "arguments": {"error": {"code": -32001, "message": "hunter22"}}},
            "-32001",
            "",
        ),
        (
            "tools/call",
            {"name": "work_act", "arguments": {"error": {"code": -7, "message": "hunter22"}}},
            RPC_ERROR,
            "",
        ),
        ("nonsense/of/mine", {}, "-32601", ""),
        ("resources/read", {"uri": "db://hunter22"}, "-32602", "unknown_tool"),
    ],
)
async def test_what_a_client_makes_up_is_not_repeated(
    tmp_path: Path, method: str, params: dict[str, Any], error: str, failure: str
):
    collector = await spans_of(tmp_path, method, params)
    (server,) = [span for span in collector.spans if span.kind == "server"]
    assert server.attributes.get("error.type", "") == error
    assert server.attributes.get("bascule.failure.kind", "") == failure
    assert server.failed is bool(error)
    assert server.described == ""
    for made_up in (b"nothing_of_the_kind", b"nonsense", b"hunter22"):
        assert made_up not in collector.raw


async def test_requests_are_counted_also_where_nobody_collects_spans(tmp_path: Path):
    telemetry = TelemetrySettings(prometheus=f"127.0.0.1:{free_port()}")
    async with serving(obeying(tmp_path / "log"), telemetry=telemetry) as gateway, line_to(gateway.port) as line:
        await ask(line, "tools/list")
        for number in range(5):
            await ask(line, f"made/up/{number}")
            await ask(line, "tools/call", {"name": f"made_up_{number}"})
        assert gateway.runtime.telemetry is not None
        counts = gateway.runtime.telemetry.counts
        found = {(labels.method, labels.tool): each.count for labels, each in counts.server.series.items()}
        assert found == {("tools/list", ""): 1, (UNKNOWN, ""): 5, ("tools/call", UNKNOWN): 5}
        assert ServerLabels("tools/list", version=NEW) in counts.server.series
        assert counts.serving == 0
        assert counts.responses == {("200",): 1, ("404",): 5, ("400",): 5}
