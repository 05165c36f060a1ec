"""The endpoint, asked over real connections by clients of both eras, and by what is no client."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from bascule.core.outcome import FailureKind
from bascule.gateway import limits
from bascule.gateway.http import sse
from support.gateways import AUTH, Served, ask, introduced, line_to, serving
from support.kit_http import NEW, OLD, Line, bearer
from support.runtime import TIMEOUTS, Events, a_tool, bad, calls_in, obeying
from support.servers import methods
from support.waiting import fail_after, until

SCHEMA = {"properties": {"n": {"type": "integer"}}}
TOOLS = [a_tool("act", SCHEMA, description="Acts."), a_tool("look", annotations={"readOnlyHint": True})]


@pytest.fixture
def events() -> Events:
    return Events()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
async def served(log: Path) -> AsyncGenerator[Served]:
    async with serving(obeying(log, *TOOLS)) as gateway:
        yield gateway


@pytest.fixture
async def line(served: Served) -> AsyncGenerator[Line]:
    async with line_to(served.port) as opened:
        yield opened


def call(**arguments: Any) -> dict[str, Any]:
    return {"name": "work_act", "arguments": arguments}


@pytest.mark.parametrize("new", [True, False])
async def test_tools_are_listed_under_their_exposed_names(line: Line, new: bool):
    result = (await ask(line, "tools/list", new=new)).message["result"]
    assert [tool["name"] for tool in result["tools"]] == ["work_act", "work_look"]
    assert result["tools"][0]["inputSchema"] == {"type": "object", **SCHEMA}
    assert result.get("cacheScope") == ("private" if new else None)


@pytest.mark.parametrize("new", [True, False])
async def test_a_call_reaches_its_server_and_its_result_comes_back(line: Line, log: Path, new: bool):
    answer = await ask(line, "tools/call", call(n=1), new=new)
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.text == '{"n": 1}'
    assert ("resultType" in answer.message["result"]) is new
    assert [params["name"] for params in calls_in(log)] == ["act"]


async def test_a_call_that_fails_is_a_result_that_says_so(line: Line, log: Path):
    answer = await ask(line, "tools/call", call(n="one"))
    result = answer.message["result"]
    assert result["isError"] is True
    assert "must be integer" in answer.text
    assert result["_meta"]["dev.bascule/failure"]["kind"] == FailureKind.INVALID_ARGUMENTS.value
    assert calls_in(log) == []


@pytest.mark.parametrize(("new", "status"), [(True, 400), (False, 200)])
async def test_an_unknown_tool_is_an_error_with_the_nearest_name(line: Line, new: bool, status: int):
    answer = await ask(line, "tools/call", {"name": "work_akt"}, new=new)
    assert (answer.status, answer.message["error"]["code"]) == (status, -32602)
    assert "work_act" in answer.message["error"]["message"]


async def test_an_old_client_begins_a_session_and_ends_it(line: Line):
    name = await introduced(line)
    assert (await ask(line, "ping", new=False, Mcp_Session_Id=name)).message["result"] == {}
    note = await line.post("notifications/initialized", {}, {"Mcp-Session-Id": name}, number=None)
    assert (note.status, note.body) == (202, b"")
    ended = await line.send(headers={"Mcp-Session-Id": name}, ask="DELETE /mcp HTTP/1.1")
    assert ended.status == 200
    gone = await ask(line, "ping", new=False, Mcp_Session_Id=name)
    assert (gone.status, gone.message["id"]) == (404, 1)


@pytest.mark.parametrize(("wanted", "agreed"), [(OLD, OLD), ("2024-11-05", "2024-11-05"), ("1999-01-01", OLD)])
async def test_an_old_client_gets_its_version_where_it_is_spoken(line: Line, wanted: str, agreed: str):
    params = {"protocolVersion": wanted, "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    result = (await ask(line, "initialize", params, new=False)).message["result"]
    assert (result["protocolVersion"], result["serverInfo"]["name"]) == (agreed, "bascule")


async def test_a_new_client_learns_what_is_spoken(line: Line):
    result = (await ask(line, "server/discover")).message["result"]
    assert result["supportedVersions"] == [NEW]
    assert result["resultType"] == "complete"


@pytest.mark.parametrize(
    ("method", "new", "status"),
    [("ping", True, 404), ("initialize", True, 404), ("tools/frobnicate", True, 404), ("tools/frobnicate", False, 200)],
)
async def test_a_method_that_an_era_does_not_have_is_not_found(line: Line, method: str, new: bool, status: int):
    answer = await ask(line, method, new=new)
    assert (answer.status, answer.message["error"]["code"]) == (status, -32601)


@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"Mcp_Name": "work_look"}, -32020),
        ({"Mcp_Name": None}, -32020),
        ({"Mcp_Method": "tools/list"}, -32020),
        ({"MCP_Protocol_Version": OLD}, -32020),
    ],
)
async def test_headers_that_differ_from_the_body_stop_the_call(
    line: Line, log: Path, headers: dict[str, Any], code: int
):
    answer = await ask(line, "tools/call", call(n=1), **headers)
    assert (answer.status, answer.message["error"]["code"]) == (400, code)
    assert not log.exists() or calls_in(log) == []


@pytest.mark.parametrize(
    ("body", "headers", "status"),
    [
        (b"{", {}, 400),
        (b"[]", {}, 400),
        (b'{"jsonrpc": "2.0", "id": 1, "result": {}}', {}, 400),
        (b"{}", {"Content-Type": "text/plain"}, 415),
        (b"{}", {"Accept": "text/html"}, 406),
        (b"{}", {"Host": "evil.test"}, 421),
        (b"{}", {"Origin": "https://evil.test"}, 403),
    ],
)
async def test_what_no_client_sends_is_turned_away(line: Line, body: bytes, headers: dict[str, str], status: int):
    answer = await line.send(body, {"Accept": "application/json, text/event-stream", **headers})
    assert answer.status == status
    assert "error" in answer.message


@pytest.mark.parametrize("method", ["GET", "PUT", "PATCH", "DELETE"])
async def test_only_messages_are_taken(line: Line, method: str):
    answer = await line.send(ask=f"{method} /mcp HTTP/1.1")
    assert (answer.status, answer.headers["allow"]) == (405, "GET, POST, DELETE")


@pytest.mark.parametrize(("path", "status"), [("/healthz", 200), ("/", 404), ("/mcp/x", 404)])
async def test_what_stands_beside_the_endpoint(line: Line, path: str, status: int):
    assert (await line.send(ask=f"GET {path} HTTP/1.1")).status == status


async def test_a_body_that_is_too_long_is_not_read(log: Path):
    async with serving(obeying(log), message_max=2048) as gateway, line_to(gateway.port) as line:
        answer = await line.send(b"", {"Content-Length": "99999", "Accept": "*/*"})
        assert answer.status == 413


async def test_who_asks_for_too_much_at_once_is_told_when_to_come_back(log: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MOST_UNDER_WAY", 1)
    monkeypatch.setattr(limits, "PENANCE", 0.01)
    async with (
        serving(obeying(log, *TOOLS), auth=AUTH) as gateway,
        line_to(gateway.port) as first,
        line_to(gateway.port) as second,
        line_to(gateway.port) as other,
    ):
        alice, bob = bearer("alice"), bearer("bob")
        waits = asyncio.ensure_future(ask(first, "tools/call", call(silent=True), Authorization=alice))
        await until(lambda: log.exists() and bool(calls_in(log)))
        turned_away = await ask(second, "tools/list", Authorization=alice)
        served = await ask(other, "tools/list", Authorization=bob)
        waits.cancel()
    assert (turned_away.status, turned_away.headers["retry-after"]) == (429, "1")
    assert turned_away.message["error"]["data"] == {"code": "BSC-716", "retry_after": 1}
    assert served.status == 200


async def test_what_was_under_way_is_counted_no_longer_however_it_ended(log: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(limits, "MOST_UNDER_WAY", 1)
    async with serving(obeying(log, *TOOLS), auth=AUTH) as gateway, line_to(gateway.port) as line:
        alice = bearer("alice")
        for params, status in [(call(n=1), 200), ({"name": "no"}, 400), (call(n="x"), 200), (call(n=1), 200)]:
            assert (await ask(line, "tools/call", params, Authorization=alice)).status == status
        assert (await line.send(b"[", {"Accept": "*/*", "Authorization": alice})).status == 400


async def test_an_address_from_which_too_many_were_turned_away_waits_and_known_callers_do_not(
    log: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(limits, "FREE", 2)
    monkeypatch.setattr(limits, "EASES", 0.0)
    monkeypatch.setattr(limits, "PENANCE", 0.01)
    async with serving(obeying(log, *TOOLS), auth=AUTH) as gateway, line_to(gateway.port) as line:
        alice = bearer("alice")
        assert (await ask(line, "tools/list", Authorization=alice)).status == 200
        statuses = [(await ask(line, "tools/list", Authorization=f"Bearer x{n}")).status for n in range(4)]
        nobody = await ask(line, "tools/list")
        assert (await ask(line, "tools/list", Authorization=alice)).status == 200
    assert statuses == [401, 401, 429, 429]
    assert nobody.status == 401


async def test_progress_comes_as_events_before_the_result(line: Line):
    params = {**call(progress=[1, 2]), "_meta": {"progressToken": "p"}}
    answer = await ask(line, "tools/call", params)
    assert answer.headers["content-type"] == "text/event-stream"
    events = [json.loads(part[5:]) for part in answer.body.decode().splitlines() if part.startswith("data:")]
    # Of what comes faster than it can be told, the newest is.
    assert events[-2]["params"] == {"progressToken": "p", "progress": 2}
    assert events[-1]["id"] == 1


async def test_without_a_stream_there_is_no_progress(line: Line):
    params = {**call(progress=[1, 2]), "_meta": {"progressToken": "p"}}
    answer = await ask(line, "tools/call", params, Accept="application/json")
    assert answer.headers["content-type"] == "application/json"


SLOW = {"silent": True}


async def test_a_client_that_hangs_up_takes_its_call_back(served: Served, log: Path):
    async with line_to(served.port) as line:
        asking = asyncio.ensure_future(ask(line, "tools/call", call(**SLOW)))
        await until(lambda: log.exists() and "tools/call" in methods(log))
        asking.cancel()
    await until(lambda: "notifications/cancelled" in methods(log))


async def test_an_old_client_says_that_it_no_longer_wants_an_answer(served: Served, log: Path):
    async with line_to(served.port) as line, line_to(served.port) as other:
        name = await introduced(line)
        asking = asyncio.ensure_future(ask(line, "tools/call", call(**SLOW), new=False, Mcp_Session_Id=name))
        await until(lambda: log.exists() and "tools/call" in methods(log))
        for wrong in (2, "1", None):
            await other.post("notifications/cancelled", {"requestId": wrong}, {"Mcp-Session-Id": name}, number=None)
        assert "notifications/cancelled" not in methods(log)
        await other.post("notifications/cancelled", {"requestId": 1}, {"Mcp-Session-Id": name}, number=None)
        await until(lambda: "notifications/cancelled" in methods(log))
        asking.cancel()


async def test_who_shows_no_good_token_is_told_where_to_get_one(log: Path):
    async with serving(obeying(log), auth=AUTH) as gateway, line_to(gateway.port) as line:
        none = await ask(line, "tools/list")
        bad_one = await ask(line, "tools/list", Authorization="Bearer nonsense")
        basic = await ask(line, "tools/list", Authorization="Basic YTpi")
        metadata = await line.send(ask="GET /.well-known/oauth-protected-resource/mcp HTTP/1.1")
    assert [answer.status for answer in (none, bad_one, basic)] == [401, 401, 401]
    assert "resource_metadata=" in none.headers["www-authenticate"]
    assert 'error="invalid_token"' in bad_one.headers["www-authenticate"]
    assert json.loads(metadata.body)["authorization_servers"] == ["https://id.example"]
    assert not log.exists()


async def test_each_caller_is_the_principal_of_its_token_and_the_token_goes_no_further(log: Path, events: Events):
    alice, bob = bearer("alice"), bearer("bob", "s-2")
    async with serving(obeying(log), auth=AUTH, events=events) as gateway, line_to(gateway.port) as line:
        for token in (alice, bob, alice):
            assert (await ask(line, "tools/call", call(n=1), Authorization=token)).status == 200
        name = await introduced(line, Authorization=alice)
        stolen = await ask(line, "ping", new=False, Authorization=bob, Mcp_Session_Id=name)
    assert [str(event.principal) for event in events.calls] == ["alice/s-1", "bob/s-2", "alice/s-1"]
    assert stolen.status == 404
    assert alice.removeprefix("Bearer ") not in log.read_text()


async def test_a_token_whose_time_is_up_is_believed_no_more(log: Path):
    now = time.time()
    async with serving(obeying(log), auth=AUTH) as gateway, line_to(gateway.port) as line:
        answer = await ask(line, "tools/list", Authorization=bearer("alice", iat=now - 900, exp=now - 800))
    assert answer.status == 401


async def test_a_call_is_governed_like_every_other(log: Path, events: Events):
    loose = obeying(log, timeouts=TIMEOUTS, ask=("act",))
    async with serving(loose, events=events) as gateway, line_to(gateway.port) as line:
        answer = await ask(line, "tools/call", call(n=1))
    assert answer.message["result"]["_meta"]["dev.bascule/failure"]["kind"] == "denied"
    bad(events.call.outcome, FailureKind.DENIED)
    assert calls_in(log) == []


async def test_many_clients_at_once_each_get_their_own_answer(served: Served):
    async def one(number: int) -> str:
        async with line_to(served.port) as line:
            return (await ask(line, "tools/call", call(n=number))).text

    async with fail_after(30, "forty clients"):
        told = [await asyncio.gather(*(one(number) for number in range(start, start + 8))) for start in range(0, 40, 8)]
    assert [each for group in told for each in group] == [json.dumps({"n": number}) for number in range(40)]


async def test_what_is_no_request_over_http_is_closed(served: Served):
    async with line_to(served.port) as line:
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Key": "x" * 22 + "==",
            "Sec-WebSocket-Version": "13",
        }
        answer = await line.send(headers=upgrade, ask="GET /mcp HTTP/1.1")
    assert answer.status in {403, 405}


@pytest.mark.parametrize("new", [True, False])
async def test_a_silent_call_says_in_time_that_it_goes_on(log: Path, new: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sse, "KEEP_ALIVE", 0.1)
    async with serving(obeying(log)) as gateway, line_to(gateway.port) as line:
        session = None if new else await introduced(line)
        slow = {"name": "work_act", "arguments": {"sleep": 0.5}}
        answer = await ask(line, "tools/call", slow, new=new, Mcp_Session_Id=session)
        assert (answer.status, answer.headers["content-type"]) == (200, "text/event-stream")
        assert answer.body.startswith(sse.COMMENT)
        assert json.loads(answer.text) == {"sleep": 0.5}
        plain = await ask(line, "tools/call", slow, new=new, Mcp_Session_Id=session, Accept="application/json")
        assert plain.headers["content-type"] == "application/json"


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_the_official_client_takes_a_call_that_was_silent_for_long(
    log: Path, mode: Any, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sse, "KEEP_ALIVE", 0.1)
    async with serving(obeying(log)) as gateway, Client(f"http://127.0.0.1:{gateway.port}/mcp", mode=mode) as client:
        async with fail_after(30, "a slow call"):
            result = await client.call_tool("work_act", {"sleep": 0.5})
        assert not result.is_error
