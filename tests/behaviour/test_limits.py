"""Servers that are broken or mean harm: each call still ends, in time, and says what was wrong."""

import asyncio
import gc
import gzip
import json
import time
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession
from bascule.config import ServerConfig, StreamableHttpTransport, Timeouts
from bascule.core.outcome import FailureKind
from support.command import bascule
from support.contract import answer_over_http
from support.http_servers import Asked, http_reply, raw_server, result_body, stream_head
from support.runtime import TIMEOUTS, a_tool, at_work, bad, calls_in, good, obeying, running, text
from support.scenarios import entry, from_file, listing, scripted, write_yaml

BRIEF = Timeouts(connect=15, list=10, call=0.4, close=0.3)
"""A short call, for servers that never finish an answer."""

DEEP = "[" * 5000 + "]" * 5000


@asynccontextmanager
async def remote(
    on_call: Callable[[Asked, asyncio.StreamWriter], Awaitable[None]], timeouts: Timeouts = TIMEOUTS
) -> AsyncGenerator[AgentSession]:
    """A server behind a URL that answers each call with what a test wants."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await (on_call if asked.message["method"] == "tools/call" else answer_over_http)(asked, writer)

    async with raw_server(answer) as server:
        transport = StreamableHttpTransport(server.url)
        async with at_work(ServerConfig(name="work", transport=transport, timeouts=timeouts)) as session:
            yield session


def replying(reply: Callable[[Asked], bytes]) -> Callable[[Asked, asyncio.StreamWriter], Awaitable[None]]:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(reply(asked))

    return answer


@pytest.mark.requirement("LIM-1")
async def test_the_cap_on_messages_is_a_setting_and_is_told(tmp_path: Path):
    large = json.dumps({"result": text("x" * 70_000)})
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")}, messages={"max": "64KiB"})
    async with from_file(path) as session:
        failure = bad(await session.call("work_act", json.loads(large)), FailureKind.PROTOCOL_ERROR)
        assert good(await session.call("work_act", {"result": text("short")})).text == "short"

    assert "longer than 65536 bytes" in failure.message
    assert "messages.max" in failure.fix


@pytest.mark.requirement("LIM-1")
async def test_a_line_that_never_ends_is_not_waited_for(tmp_path: Path):
    server = scripted(tmp_path, {"tools/call": [{"forever": "x" * 100_000}]})
    async with running(server, message_max=1_000_000) as runtime:
        outcome = await runtime.session("alice", "s-1").call("work_act")

    assert "longer than 1000000 bytes" in bad(outcome, FailureKind.PROTOCOL_ERROR).message


@pytest.mark.requirement("LIM-1")
async def test_a_reply_that_nests_without_end_is_not_read_and_harms_no_other_call(tmp_path: Path):
    deep = {"say": ['{"jsonrpc": "2.0", "id": $ID, "result": {"content": [], "deep": $DEEP}}'.replace("$DEEP", DEEP)]}
    usual = {"result": text("done")}
    async with at_work(scripted(tmp_path, {"tools/call": [deep, usual]}, timeouts=BRIEF)) as session:
        assert "nests deeper than" in bad(await session.call("work_act"), FailureKind.PROTOCOL_ERROR).message
        assert good(await session.call("work_act")).text == "done"


@pytest.mark.requirement("LIM-1")
@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (lambda asked: http_reply(DEEP.encode()), "nests deeper than"),
        (lambda asked: http_reply(b"{"), "not a JSON-RPC message"),
        (
            lambda asked: http_reply(gzip.compress(b" " * 10_000_000), Content_Encoding="gzip"),
            "the server compressed its reply",
        ),
        (lambda asked: http_reply(b"").replace(b"Content-Length: 0", b"Content-Length: 9999999999"), "longer than"),
    ],
    ids=["deep", "cut", "bomb", "long"],
)
async def test_over_http_a_hostile_body_is_a_protocol_error_at_once(reply: Callable[[Asked], bytes], told: str):
    async with remote(replying(reply)) as session:
        failure = bad(await session.call("work_act"), FailureKind.PROTOCOL_ERROR)

    assert told in failure.message


@pytest.mark.requirement("LIM-1")
async def test_what_was_checked_is_what_travels_even_if_a_key_came_twice(tmp_path: Path):
    log = tmp_path / "log"
    greet = a_tool("greet", {"properties": {"name": {"type": "string"}}})
    write_yaml(tmp_path, {"work": entry("obeying", log, json.dumps([greet]))})
    ran = await bascule(tmp_path, "call", "work_greet", "--arguments", '{"name": 7, "name": "Ada"}')

    assert ran.code == 0, ran.err
    (line,) = [line for line in log.read_text().splitlines() if '"tools/call"' in line]
    assert json.loads(line)["params"]["arguments"] == {"name": "Ada"}
    assert line.count('"name":"Ada"') == 1
    assert "7" not in line.partition('"arguments":')[2].partition("}")[0]


REPLY = '{"jsonrpc": "2.0", "id": %s, "result": {"content": [{"type": "text", "text": "%s"}]}}'


@pytest.mark.requirement("LIM-2")
async def test_replies_nobody_waits_for_are_dropped(tmp_path: Path):
    strays = [REPLY % (stray, "stray") for stray in (1, 2, 99, '"guess"', "null", "-1", "1.5", "[1]")]
    late = [REPLY % (number, "late") for number in (3, 4)]  # the ids of the two calls before
    answers = [
        {"say": [*strays, REPLY % ("$ID", "first"), REPLY % ("$ID", "a second answer")]},
        {},
        {"say": [*strays, *late, REPLY % ("$ID", "third")]},
    ]
    async with at_work(scripted(tmp_path, {"tools/call": answers})) as session:
        assert good(await session.call("work_act")).text == "first"
        bad(await session.call("work_act", timeout=0.1), FailureKind.TIMEOUT)
        assert good(await session.call("work_act")).text == "third"
        assert session.servers()[0].state == "ready"


@pytest.mark.requirement("LIM-2")
async def test_a_reply_that_comes_twice_costs_nobody_else_theirs(tmp_path: Path):
    # One write, in which the second call's answer stands behind two for the first.
    both = "\n".join([REPLY % (3, "one"), REPLY % (3, "one again"), REPLY % ("$ID", "two")])
    async with at_work(scripted(tmp_path, {"tools/call": [{}, {"say": [both]}]})) as session:
        await session.connect()
        outcomes = await asyncio.gather(session.call("work_act"), session.call("work_act"))

    assert [good(outcome).text for outcome in outcomes] == ["one", "two"]


@pytest.mark.requirement("LIM-2")
async def test_an_answer_given_before_the_question_is_no_answer(tmp_path: Path):
    ahead = [REPLY % (number, "guessed") for number in range(3, 20)]
    scenario = {"tools/list": [{"say": ahead, **listing(a_tool("act"))}]}
    async with at_work(scripted(tmp_path, scenario)) as session:
        await session.connect()
        assert good(await session.call("work_act")).text == "done"


@pytest.mark.requirement("LIM-2")
async def test_a_banner_on_stdout_is_forgiven(tmp_path: Path):
    noise = ["Listening on port 80", "{not json", '{"id": 1', "[]", "\x1b[32mok\x1b[0m"]
    scenario = {
        "tools/list": [{"say": noise, **listing(a_tool("act"))}],
        "tools/call": [{"say": noise, "result": text("done")}],
    }
    async with at_work(scripted(tmp_path, scenario)) as session:
        assert good(await session.call("work_act")).text == "done"
        assert session.servers()[0].state == "ready"


@pytest.mark.requirement("LIM-2")
async def test_noise_without_end_ends_the_link_with_a_sample_of_it(tmp_path: Path):
    async with at_work(scripted(tmp_path, {"tools/call": [{"forever": "DEBUG: \x1b[1mtick\n"}]})) as session:
        failure = bad(await session.call("work_act"), FailureKind.PROTOCOL_ERROR)

    assert "100 messages in a row could not be read" in failure.message
    assert "DEBUG: " in failure.evidence
    assert "\x1b" not in failure.evidence
    assert "stderr" in failure.fix


@pytest.mark.requirement("LIM-3")
@pytest.mark.parametrize(
    "drip",
    [" ", "\n", '{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n'],
    ids=["bytes", "lines", "notices"],
)
async def test_what_trickles_in_extends_no_deadline(tmp_path: Path, drip: str):
    async with at_work(scripted(tmp_path, {"tools/call": [{"forever": drip}]}, timeouts=BRIEF)) as session:
        failure = bad(await session.call("work_act"), FailureKind.TIMEOUT)

    assert "within 0.4 s" in failure.message


@pytest.mark.requirement("LIM-3")
async def test_a_list_that_trickles_in_ends_by_its_deadline(tmp_path: Path):
    page = {"say": ['{"jsonrpc": "2.0", "id": $ID, "result": {"tools": [], "nextCursor": "$N"}}']}
    limits = Timeouts(connect=15, list=0.5, close=1)
    async with at_work(
        scripted(tmp_path, {"tools/list": [page] * 20 + [{"forever": " "}]}, timeouts=limits)
    ) as session:
        (report,) = await session.connect()

    assert report.state == "failed"
    assert report.error is not None
    assert "timeouts.list" in report.error.fix


async def keep_alive(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(stream_head())
    while True:
        writer.write(b": still here\n\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def drip_a_body(asked: Asked, writer: asyncio.StreamWriter) -> None:
    head, _, body = http_reply(result_body(asked.id, text("x" * 10_000))).partition(b"\r\n\r\n")
    writer.write(head + b"\r\n\r\n")
    for byte in body:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.requirement("LIM-3")
@pytest.mark.parametrize("drip", [keep_alive, drip_a_body])
async def test_over_http_what_trickles_in_extends_no_deadline_either(drip: Any):
    async with remote(drip, BRIEF) as session:
        failure = bad(await session.call("work_act"), FailureKind.TIMEOUT)

    assert "within 0.4 s" in failure.message


class Steps:
    """The longest that one step of the loop has kept its thread at work. Others on the machine do not count."""

    def __init__(self) -> None:
        self.longest = 0.0

    async def watch(self) -> None:
        last = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            self.longest = max(self.longest, now - last)
            last = now


@asynccontextmanager
async def watched() -> AsyncGenerator[Steps]:
    steps = Steps()
    gc.collect()
    gc.disable()  # what other tests have left would be looked through in one of our steps
    watching = asyncio.create_task(steps.watch())
    try:
        yield steps
    finally:
        watching.cancel()
        gc.enable()


def nested(depth: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(depth):
        schema = {"properties": {"a": schema}}
    return schema


def unions(depth: int) -> dict[str, Any]:
    """A list of texts, for each of which a check that doubles at every level has to fail first."""
    levels = {f"l{n}": {"anyOf": [{"$ref": f"#/$defs/l{n + 1}"}] * 2} for n in range(depth)}
    each = {"anyOf": [{"$ref": "#/$defs/l0"}, {"type": "string"}]}
    return {"$defs": levels | {f"l{depth}": {"type": "integer"}}, "properties": {"a": {"items": each}}}


def word(size: int) -> str:
    return "a" * size + "!"


ATTACKS: dict[str, tuple[dict[str, Any], Callable[[int], Any]]] = {
    "regex": ({"properties": {"a": {"pattern": "^(a+)+$"}}}, word),
    "counted regex": ({"properties": {"a": {"pattern": "^((a{0,99}){0,99}){0,99}$"}}}, word),
    "shallow unions": (unions(12), lambda size: ["x"] * size),
    "deep unions": (unions(40), lambda size: ["x"] * size),
    "depth": (nested(40), word),
    "unique": ({"properties": {"a": {"uniqueItems": True}}}, lambda size: [{"n": n} for n in range(size)]),
}
"""Schemas that cost more than they look, and values that bring it out, the more so the larger they are."""


@pytest.mark.requirement("LIM-4")
@pytest.mark.parametrize("place", ["arguments", "results"])
@pytest.mark.parametrize("name", ATTACKS)
async def test_no_schema_stalls_the_loop(tmp_path: Path, name: str, place: str):
    schema, value = ATTACKS[name]
    tool = a_tool("hostile", schema) if place == "arguments" else a_tool("hostile", outputSchema=schema)
    log = tmp_path / "log"
    async with at_work(obeying(log, tool), obeying(log, name="warm")) as session:
        await session.call("warm_act", {"a": "x"})  # what is imported on first use is no doing of the schema
        async with watched() as steps:
            await session.connect()
            for size in (10, 100, 1000, 10_000):
                given = {"a": value(size)}
                order = given if place == "arguments" else {"result": {"content": [], "structuredContent": given}}
                await asyncio.sleep(0)
                await session.call("work_hostile", order)
                await asyncio.sleep(0)  # a call that is refused has not let the watch have a look

    assert steps.longest < 0.05


@pytest.mark.requirement("LIM-5")
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
@pytest.mark.parametrize("at", ["server/discover", "tools/call"])
async def test_no_redirect_leads_to_another_server(status: str, at: str):
    async with raw_server(answer_over_http) as elsewhere:

        async def redirect(asked: Asked, writer: asyncio.StreamWriter) -> None:
            if asked.message["method"] in {at, "initialize"}:
                writer.write(http_reply(status=status, Location=elsewhere.url))
            else:
                await answer_over_http(asked, writer)

        async with raw_server(redirect) as server:
            transport = StreamableHttpTransport(server.url, {"Authorization": "Bearer abcdefgh"})
            async with at_work(ServerConfig(name="work", transport=transport, timeouts=TIMEOUTS)) as session:
                failure = bad(await session.call("work_act", {}), FailureKind.CONNECTION_ERROR)

    assert elsewhere.connections == 0
    assert "redirects to another server" in failure.message
    assert elsewhere.url in failure.fix


@pytest.mark.requirement("LIM-5")
async def test_nothing_that_a_server_names_is_opened(tmp_path: Path):
    async with raw_server(answer_over_http) as elsewhere:
        url = elsewhere.url
        link = {"type": "resource_link", "uri": url, "name": "look", "icons": [{"src": url}]}
        tool = a_tool("act", icons=[{"src": url}], _meta={"ui": {"resourceUri": url, "visibility": ["model"]}})
        raw = {"content": [link], "structuredContent": {"url": url}, "_meta": {"next": url}}
        async with at_work(obeying(tmp_path / "log", tool)) as session:
            result = good(await session.call("work_act", {"result": raw}))
            assert url in result.text
            assert result.content

    assert elsewhere.connections == 0
    assert len(calls_in(tmp_path / "log")) == 1
