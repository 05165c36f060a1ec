"""Where requests go when there are several gateways."""

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bascule.config import ServerConfig, StdioTransport
from bascule.config.model.link_settings import Limits
from bascule.core.errors import StoreError
from bascule.core.outcome import FailureKind
from bascule.gateway.cluster.forward import Letter
from bascule.gateway.cluster.routing import is_harmless, needs_owner, replayed
from bascule.gateway.http.headers import Head
from support.gateways import ask, introduced
from support.kit_http import NEW, OLD, bearer, line_to
from support.runtime import bad, calls_in, obeying
from support.servers import pids
from support.several import Member, member
from support.waiting import until

ALICE = bearer("alice")
STATEFUL = ServerConfig("work", StdioTransport("x"))
FREE = ServerConfig("free", StdioTransport("x"), stateless=True)
SHARED = ServerConfig("all", StdioTransport("x"), stateless=True, lifetime="shared")
BRIEF = ServerConfig("brief", StdioTransport("x"), lifetime="call")
COUNTED = ServerConfig("counted", StdioTransport("x"), stateless=True, limits=Limits(per_minute=5))
WEIGHED = ServerConfig("weighed", StdioTransport("x"), lifetime="call", limits=Limits(bytes_per_minute=5))
EVERY: Mapping[str, ServerConfig] = {each.name: each for each in (STATEFUL, FREE, SHARED, BRIEF, COUNTED, WEIGHED)}


def head(method: str, name: str | None = None, version: str | None = NEW) -> Head:
    return Head(version=version, method=method, name=name)


@pytest.mark.parametrize(
    ("asked", "owned"),
    [
        (head("tools/call", "work_act"), True),
        (head("tools/call", "free_act"), False),
        (head("tools/call", "all_act"), False),
        (head("tools/call", "brief_act"), False),
        (head("tools/call", "counted_act"), True),
        (head("tools/call", "weighed_act"), True),
        (head("tools/call", "search_tools"), True),
        (head("tools/call", None), True),
        (head("tools/list"), True),
        (head("resources/read", "x://y"), True),
        (head("server/discover"), False),
        (head("tools/call", "free_act", version=OLD), True),
        (head("tools/call", "free_act", version=None), True),
    ],
)
def test_what_may_touch_a_stateful_link_goes_to_its_owner(asked: Head, owned: bool):
    assert needs_owner(asked, EVERY) is owned


def test_where_no_server_keeps_anything_any_gateway_will_do():
    assert not needs_owner(head("tools/list"), {"free": FREE})
    assert not needs_owner(head("tools/list"), {})


@pytest.mark.parametrize(
    ("method", "harmless"),
    [
        ("tools/call", False),
        ("tasks/update", False),
        ("tools/list", True),
        ("resources/read", True),
        ("notifications/cancelled", True),
    ],
)
def test_what_may_have_been_done_is_not_asked_for_again(method: str, harmless: bool):
    number = {} if method.startswith("notifications/") else {"id": 1}
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": {}, **number}).encode()
    assert is_harmless(Letter("POST", [], body), head(method)) is harmless


async def test_a_body_that_was_read_comes_again_and_then_what_comes():
    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    again = replayed(Letter("POST", [], b"{}"), receive)
    assert await again() == {"type": "http.request", "body": b"{}", "more_body": False, "bulk": None}
    assert (await again())["type"] == "http.disconnect"


async def pid(gateway: Member, *, new: bool = True, **headers: str | None) -> str:
    """Of the server that answers."""
    async with line_to(gateway.port) as line:
        call = {"name": "work_act", "arguments": {"pid": 1}}
        return (await ask(line, "tools/call", call, new=new, **{"Authorization": ALICE, **headers})).text


async def test_one_principal_has_one_stateful_server_whichever_gateway_it_asks(tmp_path: Path):
    log = tmp_path / "log"
    async with member(obeying(log)) as one, member(obeying(log)) as two:
        told = [await pid(gateway) for gateway in (one, two, two, one)]
        assert len(set(told)) == 1
        others = {await pid(two, Authorization=bearer("bob")), await pid(one, Authorization=bearer("bob"))}
        assert len(others) == 1
    assert len(pids(log)) == 2


async def test_a_stateless_server_is_asked_from_wherever_the_client_came(tmp_path: Path):
    log = tmp_path / "log"
    server = obeying(log, stateless=True)
    async with member(server) as one, member(server) as two:
        assert await pid(one) != await pid(two)
        assert (len(one.events.calls), len(two.events.calls)) == (1, 1)


async def test_a_token_goes_no_further_and_the_principal_does(tmp_path: Path):
    log = tmp_path / "log"
    async with member(obeying(log)) as one, member(obeying(log)) as two:
        await pid(one)
        await pid(two)
        assert [str(call.principal) for call in one.events.calls] == ["alice/s-1"] * 2
        assert two.events.calls == []
        async with line_to(two.port) as line:
            nobody = await ask(line, "tools/call", {"name": "work_act"}, Authorization="Bearer x")
            assert nobody.status == 401
    assert len(calls_in(log)) == 2


async def test_a_session_of_the_old_era_goes_on_at_any_gateway(tmp_path: Path):
    log = tmp_path / "log"
    async with member(obeying(log)) as one, member(obeying(log)) as two:
        async with line_to(one.port) as line:
            name = await introduced(line, Authorization=ALICE)
        session = {"Mcp_Session_Id": name, "MCP_Protocol_Version": OLD}
        assert await pid(two, new=False, **session) == await pid(one, new=False, **session)
        await one.stop()
        assert await pid(two, new=False, **session)


async def test_progress_comes_through_as_it_is_told(tmp_path: Path):
    log = tmp_path / "log"
    async with member(obeying(log)) as one, member(obeying(log)) as two:
        await pid(one)
        async with line_to(two.port) as line:
            params = {"name": "work_act", "arguments": {"progress": [1, 2]}, "_meta": {"progressToken": "t"}}
            answer = await ask(line, "tools/call", params, Authorization=ALICE)
    events = [json.loads(each[5:]) for each in answer.body.decode().splitlines() if each.startswith("data:")]
    assert [each.get("method", "result") for each in events][-1] == "result"
    assert {"notifications/progress"} == {each["method"] for each in events[:-1]}


async def test_a_client_that_hangs_up_takes_its_call_back_at_the_owner_too(tmp_path: Path):
    log = tmp_path / "log"
    async with member(obeying(log)) as one, member(obeying(log)) as two:
        await pid(one)
        async with line_to(two.port) as line:
            call = {"name": "work_act", "arguments": {"silent": True}}
            asking = asyncio.ensure_future(ask(line, "tools/call", call, Authorization=ALICE))
            await until(lambda: len(calls_in(log)) == 2)
            asking.cancel()
        await until(lambda: len(one.events.calls) == 2)
        assert bad(one.events.calls[-1].outcome, FailureKind.ABORTED)


async def test_what_one_gateway_gives_away_the_other_serves(tmp_path: Path):
    log = tmp_path / "log"
    async with member(obeying(log)) as one, member(obeying(log)) as two:
        first = await pid(one)
        await one.stop()
        assert await pid(two) != first


async def test_who_cannot_be_served_by_anybody_now_is_told_when_to_come_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bascule.gateway.cluster.routing.PAUSES", (0.0, 0.0))
    async with member(obeying(tmp_path / "log")) as one:
        async with line_to(one.port) as line:
            await ask(line, "server/discover", Authorization=ALICE)
            one.orders.retire()
            answer = await ask(line, "tools/call", {"name": "work_act"}, Authorization=ALICE)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert answer.message["error"]["code"] == -32603


async def test_a_call_that_nobody_can_count_now_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("bascule.gateway.cluster.routing.PAUSES", (0.0, 0.0))
    log = tmp_path / "log"
    async with member(obeying(log, stateless=True, limits=Limits(per_minute=5))) as one, line_to(one.port) as line:
        await ask(line, "server/discover", Authorization=ALICE)

        async def unknown(*_: object) -> str:
            raise StoreError("the store cannot be asked")

        monkeypatch.setattr(one.runtime.owners, "claim", unknown)
        answer = await ask(line, "tools/call", {"name": "work_act"}, Authorization=ALICE)
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")
        assert not log.exists() or not calls_in(log)
