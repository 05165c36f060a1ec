"""The path of a call: what is checked before it leaves, what comes back, and the one event it leaves behind."""

import asyncio
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Runtime, ToolFailure
from bascule.config import Limits, ServerConfig, StreamableHttpTransport
from bascule.core.events import ToolInvoked
from bascule.core.outcome import FailureKind
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from support.command import bascule
from support.contract import answer_over_http
from support.http_servers import Asked, http_reply, raw_server
from support.runtime import Arrived, Events, a_tool, at_work, bad, calls_in, good, obeying, running, stand_in, text
from support.scenarios import entry, log_of, scripted, write_yaml
from support.servers import received

PATH = ["resolve", "validate", "decide", "lease", "send", "read"]
"""The steps of a call, in the order in which they are taken."""

GREET = a_tool("greet", {"properties": {"name": {"type": "string"}}, "required": ["name"]})


@pytest.mark.requirement("EXE-1")
async def test_a_call_takes_every_step_in_order(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log")) as session:
        result = good(await session.call("work_act", {}))

    assert [*result.steps] == PATH
    assert all(seconds >= 0 for seconds in result.steps.values())


@pytest.mark.requirement("EXE-1")
@pytest.mark.parametrize(
    ("name", "arguments", "last"),
    [("work_nothing", {}, None), ("work_greet", {}, "resolve"), ("work_greet", {"name": 7}, "resolve")],
)
async def test_a_call_that_is_refused_goes_no_further(
    tmp_path: Path, name: str, arguments: dict[str, Any], last: str | None
):
    log = tmp_path / "log"
    async with at_work(obeying(log, GREET)) as session:
        outcome = await session.call(name, arguments)

    assert ([*outcome.steps] or [None])[-1] == last
    assert calls_in(log) == []


@pytest.mark.requirement("EXE-1")
async def test_the_command_takes_the_same_path(tmp_path: Path):
    log = tmp_path / "log"
    write_yaml(tmp_path, {"work": entry("obeying", log, json.dumps([GREET]))})
    refused = await bascule(tmp_path, "call", "work_greet", "--json")
    assert calls_in(log) == []
    called = await bascule(tmp_path, "call", "work_greet", "name=Ada", "--json")

    assert (refused.code, refused.json["kind"], refused.json["code"]) == (2, "invalid_arguments", "BSC-202")
    assert (called.code, [*called.json["steps"]], called.json["lane"]) == (0, PATH, "open")
    assert [call["arguments"] for call in calls_in(log)] == [{"name": "Ada"}]


@pytest.mark.requirement("EXE-1")
@pytest.mark.parametrize("server", ["old", "new"])
async def test_a_server_gets_a_trace_of_ours_and_nothing_of_the_callers(tmp_path: Path, server: str):
    log = tmp_path / "log"
    given = {"message": "hi", "_meta": {"baggage": "user=alice", "traceparent": "theirs"}}
    async with at_work(stand_in("it", server, "--log", log)) as session:
        for _ in range(2):
            good(await session.call("it_echo", given))

    calls = [message["params"] for message in received(log) if message.get("method") == "tools/call"]
    traces = [call["_meta"]["traceparent"] for call in calls]
    assert all(re.fullmatch(r"00-[0-9a-f]{32}-[0-9a-f]{16}-01", trace) for trace in traces)
    assert len({*traces}) == 2
    assert all("baggage" not in call["_meta"] and call["arguments"] == given for call in calls)


async def refuse_busily(asked: Asked, writer: asyncio.StreamWriter) -> None:
    if asked.message["method"] == "tools/call":
        writer.write(http_reply(b"", "503 Service Unavailable"))
    else:
        await answer_over_http(asked, writer)


SILENT = {"progress": [1], "silent": True}
ENDINGS: dict[str, tuple[FailureKind | None, Callable[[AgentSession], Any]]] = {
    "good": (None, lambda session: session.call("work_act", {})),
    "refused by the tool": (
        FailureKind.TOOL_ERROR,
        lambda session: session.call("work_act", {"result": {"isError": True, **text("no")}}),
    ),
    "refused by the protocol": (
        FailureKind.TOOL_ERROR,
        lambda session: session.call("work_act", {"error": {"code": -32000, "message": "no"}}),
    ),
    "silence": (FailureKind.TIMEOUT, lambda session: session.call("work_act", {"silent": True}, timeout=0.1)),
    "death": (FailureKind.CONNECTION_ERROR, lambda session: session.call("work_act", {"exit": 1})),
    "nonsense": (
        FailureKind.PROTOCOL_ERROR,
        lambda session: session.call("work_act", {"result": {"content": "not a list"}}),
    ),
    "unknown": (FailureKind.UNKNOWN_TOOL, lambda session: session.call("work_acct", {})),
    "wrong": (FailureKind.INVALID_ARGUMENTS, lambda session: session.call("work_greet", {})),
    "no json": (FailureKind.INVALID_ARGUMENTS, lambda session: session.call("work_act", {"what": object()})),
    "unusable": (FailureKind.DENIED, lambda session: session.call("work_odd", {})),
    "absent": (FailureKind.CONNECTION_ERROR, lambda session: session.call("missing_act", {})),
    "busy": (FailureKind.UNAVAILABLE, lambda session: session.call("busy_act", {})),
}
"""Every way a call can end, and a call that ends so."""

ODD = {"name": "odd", "inputSchema": {"type": "array"}}


async def ended(folder: Path, name: str, events: Events) -> Any:
    """Make a call that ends in one of the ways."""
    missing = stand_in("missing", "no-such-script")
    async with raw_server(refuse_busily) as server:
        busy = ServerConfig(name="busy", transport=StreamableHttpTransport(server.url))
        servers = (obeying(folder / "log", a_tool("act"), GREET, ODD), missing, busy)
        async with at_work(*servers, events=events) as session:
            return await ENDINGS[name][1](session)


@pytest.mark.requirement("EXE-3", "EXE-4")
@pytest.mark.parametrize("name", ENDINGS)
async def test_however_a_call_ends_it_is_one_outcome_and_one_event(tmp_path: Path, name: str):
    events = Events()
    outcome = await ended(tmp_path, name, events)

    kind, _ = ENDINGS[name]
    assert (outcome.kind if isinstance(outcome, ToolFailure) else None) == kind
    if isinstance(outcome, ToolFailure):
        assert re.fullmatch(r"BSC-\d{3}", outcome.code)
        assert outcome.message
    assert events.call.outcome is outcome
    assert events.call.principal == Principal("alice", "s-1")
    assert events.call.lane is Lane.OPEN
    assert events.call.source == "mcp"
    assert events.call.steps == outcome.steps


@pytest.mark.requirement("EXE-3")
def test_the_kinds_of_failure_are_a_closed_set():
    assert {*FailureKind} == {
        "connection_error",
        "timeout",
        "aborted",
        "denied",
        "invalid_arguments",
        "unknown_tool",
        "tool_error",
        "fatal",
        "protocol_error",
        "unavailable",
    }


@pytest.mark.requirement("EXE-3", "EXE-4")
async def test_a_caller_who_stops_waiting_gets_the_cancellation_and_the_event_says_aborted(tmp_path: Path):
    events, arrived = Events(), Arrived()
    async with at_work(obeying(tmp_path / "log"), events=events) as session:
        waiting = asyncio.create_task(session.call("work_act", SILENT, on_progress=arrived))
        await arrived.wait()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting

    assert bad(events.call.outcome, FailureKind.ABORTED).code == "BSC-703"


@pytest.mark.requirement("EXE-3")
async def test_a_mistake_of_ours_is_not_dressed_up_as_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def mistaken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("bascule.runtime.requests.tool_call.take_outcome", mistaken)
    async with at_work(obeying(tmp_path / "log")) as session:
        with pytest.raises(ZeroDivisionError):
            await session.call("work_act", {})


@pytest.mark.requirement("EXE-4")
async def test_an_event_tells_the_shape_of_the_arguments_and_never_their_values(tmp_path: Path):
    events = Events()
    given = {"word": "hunter2", "count": 3, "flag": True, "none": None, "list": [1, 2], "map": {"hunter2": 1}}
    async with at_work(obeying(tmp_path / "log"), events=events) as session:
        good(await session.call("work_act", given))

    event = events.call
    assert (event.tool, event.server) == ("work_act", "work")
    assert event.arguments == {
        "word": "string[7]",
        "count": "number",
        "flag": "boolean",
        "none": "null",
        "list": "array[2]",
        "map": "object[1]",
    }
    assert "hunter2" not in repr(event.arguments)
    assert [*event.steps] == PATH


@pytest.mark.requirement("EXE-4")
async def test_many_calls_at_once_leave_one_event_each_under_their_own_principal(tmp_path: Path, scale: int):
    events = Events()
    async with running(obeying(tmp_path / "log", limits=Limits(concurrent=None)), events=events) as runtime:
        users = [f"user-{number}" for number in range(4)]
        calls = [runtime.session(user, "s").call("work_act", {"n": n}) for user in users for n in range(10 * scale)]
        await asyncio.gather(*calls)

    assert sorted(event.principal.user_id for event in events.calls) == sorted(users * 10 * scale)


@pytest.mark.requirement("EXE-4")
async def test_a_listener_that_fails_harms_neither_the_call_nor_other_listeners(tmp_path: Path):
    heard: list[Any] = []

    def failing(_: object) -> None:
        raise OSError("the disk is full")

    sinks = [failing, heard.append]
    async with Runtime.from_servers({"work": obeying(tmp_path / "log")}, sinks=sinks) as runtime:
        good(await runtime.session("alice", "s-1").call("work_act", {}))
    assert len([event for event in heard if isinstance(event, ToolInvoked)]) == 1


@pytest.mark.requirement("EXE-6")
@pytest.mark.parametrize("given", [{}, {"a": None}, {"a": ""}, {"a": False, "extra": []}])
async def test_only_the_arguments_that_were_given_travel(tmp_path: Path, given: dict[str, Any]):
    log = tmp_path / "log"
    optional = {"a": {"default": "by default"}, "b": {"type": "string", "default": "b"}, "c": {"const": 1}}
    async with at_work(obeying(log, a_tool("act", {"properties": optional}))) as session:
        good(await session.call("work_act", given))

    assert [call["arguments"] for call in calls_in(log)] == [given]


@pytest.mark.requirement("EXE-6")
async def test_what_the_caller_changes_after_asking_does_not_travel(tmp_path: Path):
    log = tmp_path / "log"
    given: dict[str, Any] = {"name": "Ada"}
    async with at_work(obeying(log, GREET)) as session:
        call = session.call("work_greet", given)
        given["name"] = 7
        given["more"] = True
        good(await call)

    assert [call["arguments"] for call in calls_in(log)] == [{"name": "Ada"}]


@pytest.mark.requirement("EXE-7")
async def test_progress_reaches_the_caller_with_its_total_and_its_words(tmp_path: Path):
    told = {"progressToken": "$TOKEN", "progress": 2, "total": 5, "message": "packing"}
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
    answer = {"say": [line.replace('"$TOKEN"', "$TOKEN")], "result": text("done")}
    heard: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        heard.append((progress, total, message))

    async with at_work(scripted(tmp_path, {"tools/call": [answer]})) as session:
        assert good(await session.call("work_act", on_progress=note)).text == "done"
    assert heard == [(2, 5, "packing")]


@pytest.mark.requirement("EXE-7")
async def test_progress_is_asked_for_only_by_who_wants_it(tmp_path: Path):
    async with at_work(scripted(tmp_path, {})) as session:
        await session.call("work_act")
        await session.call("work_act", on_progress=lambda *_: None)

    metas = [call["_meta"] for call in calls_in(log_of(tmp_path))]
    assert ["progressToken" in meta for meta in metas] == [False, True]


@pytest.mark.requirement("EXE-7", "LIM-3")
async def test_progress_without_end_extends_no_deadline(tmp_path: Path):
    told = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":$TOKEN,"progress":1}}\n'
    arrived = Arrived()
    async with at_work(scripted(tmp_path, {"tools/call": [{"forever": told}]})) as session:
        outcome = await session.call("work_act", timeout=0.5, on_progress=arrived)

    assert "within 0.5 s" in bad(outcome, FailureKind.TIMEOUT).message
    assert arrived.progress


PROMISED = a_tool(
    "count", outputSchema={"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
)


@pytest.mark.requirement("EXE-9")
@pytest.mark.parametrize(
    ("result", "told"),
    [
        ({"structuredContent": {"count": "three"}}, "structuredContent.count"),
        ({"structuredContent": {}}, "structuredContent"),
        ({"structuredContent": [3]}, "structuredContent"),
        ({}, "it promises structured content, and sent none"),
    ],
)
async def test_a_result_that_breaks_its_promise_is_kept_but_not_believed(
    tmp_path: Path, result: dict[str, Any], told: str
):
    raw = {**text("three"), **result}
    async with at_work(obeying(tmp_path / "log", PROMISED)) as session:
        failure = bad(await session.call("work_count", {"result": raw}), FailureKind.PROTOCOL_ERROR)

    assert told in failure.message
    assert failure.cause == raw


@pytest.mark.requirement("EXE-9")
async def test_a_result_that_keeps_its_promise_is_given_and_an_error_promises_nothing(tmp_path: Path):
    async with at_work(obeying(tmp_path / "log", PROMISED)) as session:
        kept = await session.call("work_count", {"result": {"content": [], "structuredContent": {"count": 3}}})
        error = await session.call("work_count", {"result": {"isError": True, **text("no counter")}})

    assert good(kept).structured == {"count": 3}
    assert bad(error, FailureKind.TOOL_ERROR).message == "no counter"
