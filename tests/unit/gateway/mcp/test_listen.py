"""How clients listen, over real connections: what begins a stream, what ends it, and what it cannot do to others."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from bascule.core.principal import Principal
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp import listen
from bascule.gateway.mcp import listen as module
from bascule.gateway.mcp.envelope import Asked
from bascule.gateway.mcp.listen import MOST_RESOURCES, Listening, Streams, read_wanted
from support.gateways import AUTH, Served, ask, introduced, line_to, serving
from support.hearing import EventStream, listened, stream
from support.kit_http import Line, bearer
from support.runtime import at_work, obeying
from support.waiting import fail_after, until

CHANGED = "notifications/tools/list_changed"


@pytest.fixture
async def served(tmp_path: Path) -> AsyncGenerator[Served]:
    async with serving(obeying(tmp_path / "log")) as gateway:
        yield gateway


@pytest.fixture
async def line(served: Served) -> AsyncGenerator[Line]:
    async with line_to(served.port) as opened:
        yield opened


def session_stream(port: int, name: str, **headers: str) -> Any:
    return stream(port, "GET", {"Mcp-Session-Id": name, **headers})


def change(served: Served) -> None:
    """Have Alice's tools be others, without asking her servers."""
    news = served.runtime.session("alice", "s-1")._roster.news
    for circle in news._circles.values():
        for listener in circle.listeners:
            listener.changed("tools")


async def ended(events: EventStream) -> bool:
    """Whether nothing follows but the end."""
    return await events.next() is None


# The old era's


async def test_a_session_has_one_stream(served: Served, line: Line):
    name = await introduced(line)
    async with session_stream(served.port, name) as first:
        assert (first.status, "text/event-stream" in first.head) == (200, True)
        async with session_stream(served.port, name) as second:
            assert second.status == 409
        change(served)
        assert await first.next() == {"jsonrpc": "2.0", "method": CHANGED, "params": {}}


async def test_after_a_break_its_client_comes_back_and_has_missed_nothing(served: Served, line: Line):
    name = await introduced(line)
    async with session_stream(served.port, name) as first:
        assert first.status == 200
    await until(lambda: not len(served.app.streams))
    change(served)
    async with session_stream(served.port, name) as second:
        assert (await second.next())["method"] == CHANGED


@pytest.mark.parametrize(
    ("name", "headers", "status"),
    [("nobody's", {}, 404), (None, {"Accept": "application/json"}, 406), (None, {"Accept": "*/*"}, 200)],
)
async def test_what_is_no_stream_of_a_session(
    served: Served, line: Line, name: str | None, headers: dict[str, str], status: int
):
    async with session_stream(served.port, name or await introduced(line), **headers) as events:
        assert events.status == status


async def test_a_session_that_is_ended_takes_its_stream_with_it(served: Served, line: Line):
    name = await introduced(line)
    async with session_stream(served.port, name) as events:
        assert (await line.send(headers={"Mcp-Session-Id": name}, ask="DELETE /mcp HTTP/1.1")).status == 200
        assert await ended(events)
    async with session_stream(served.port, name) as again:
        assert again.status == 404


# The new era's


async def test_a_client_is_told_first_what_it_will_hear_of(served: Served):
    async with listened(served.port, toolsListChanged=True, promptsListChanged=False, taskIds=["x"]) as events:
        meta = {"io.modelcontextprotocol/subscriptionId": "l-1"}
        first = await events.next()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert first["params"] == {"notifications": {"toolsListChanged": True}, "_meta": meta}
        change(served)
        assert await events.next() == {"jsonrpc": "2.0", "method": CHANGED, "params": {"_meta": meta}}


async def test_a_client_that_hangs_up_leaves_nothing(served: Served):
    async with listened(served.port, toolsListChanged=True) as events:
        await events.next()
        assert len(served.app.streams) == 1
    await until(lambda: not len(served.app.streams))
    assert not served.runtime.session("alice", "s-1")._roster.news._circles


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"notifications": []},
        {"notifications": {"resourceSubscriptions": "notes://1"}},
        {"notifications": {"resourceSubscriptions": [5]}},
        {"notifications": {"resourceSubscriptions": [f"notes://{n}" for n in range(MOST_RESOURCES + 1)]}},
    ],
)
def test_what_is_no_filter_is_refused(params: dict[str, Any]):
    with pytest.raises(Rejected):
        read_wanted(params)


async def test_who_takes_no_stream_cannot_listen(tmp_path: Path, line: Line):
    answer = await ask(line, "subscriptions/listen", {"notifications": {}}, Accept="application/json")
    assert answer.status == 406
    async with at_work(obeying(tmp_path / "other")) as session:
        with pytest.raises(Rejected):
            await Listening(session, Streams()).serve(Asked("subscriptions/listen", {"notifications": {}}, 1))


# When each of them ends


async def both(stack: AsyncExitStack, port: int, **token: str) -> list[EventStream]:
    """A stream of each era, which has begun."""
    async with line_to(port) as line:
        name = await introduced(line, **token)
    old = await stack.enter_async_context(session_stream(port, name, **token))
    new = await stack.enter_async_context(listened(port, token, toolsListChanged=True))
    await new.next()
    return [old, new]


async def test_when_the_gateway_stops_they_end_and_nobody_waits_for_them(tmp_path: Path):
    async with AsyncExitStack() as stack:
        async with fail_after(8, "the end of the gateway"), serving(obeying(tmp_path / "log")) as gateway:
            old, new = await both(stack, gateway.port)
        assert await ended(old)
        # The new era is told that this is no accident.
        meta = {"io.modelcontextprotocol/subscriptionId": "l-1"}
        assert (await new.next())["result"] == {"_meta": meta, "resultType": "complete"}


async def test_they_end_with_the_token_of_their_client(tmp_path: Path):
    token = bearer("alice", exp=time.time() + 2)
    async with serving(obeying(tmp_path / "log"), auth=AUTH) as gateway, AsyncExitStack() as stack:
        old, new = await both(stack, gateway.port, Authorization=token)
        assert await ended(old)
        assert "result" in await new.next()


async def test_they_end_when_an_operator_ends_the_agent_session(served: Served):
    async with AsyncExitStack() as stack:
        old, new = await both(stack, served.port)
        session = served.runtime.session("alice", "s-1")
        session._roster.news.moved(session.principal, ended=True)
        assert await ended(old)
        assert "result" in await new.next()


# What they cannot do to others


@pytest.mark.long
async def test_a_thousand_streams_of_one_principal_leave_room_for_others(tmp_path: Path):
    tokens = {who: {"Authorization": bearer(who)} for who in ("alice", "bob")}
    async with serving(obeying(tmp_path / "log"), auth=AUTH, within=60) as gateway, AsyncExitStack() as stack:
        opened = [
            await stack.enter_async_context(listened(gateway.port, tokens["alice"])) for _ in range(listen.MOST_OF_ONE)
        ]
        assert {each.status for each in opened} == {200}
        refused = list[int]()

        async def more() -> None:
            async with listened(gateway.port, tokens["alice"]) as events:
                refused.append(events.status)

        for _ in range(20):
            await asyncio.gather(*(more() for _ in range(50)))
        assert refused == [429] * 1000
        async with listened(gateway.port, tokens["bob"]) as events, line_to(gateway.port) as line:
            assert events.status == 200
            assert (await ask(line, "tools/call", {"name": "work_act"}, Authorization=bearer("alice"))).status == 200
        assert len(gateway.app.streams) <= listen.MOST_OF_ONE + 1


async def test_a_client_that_reads_nothing_costs_what_it_costs(served: Served, line: Line):
    name = await introduced(line)
    async with session_stream(served.port, name) as events:
        sessions = served.app._sessions._sessions
        outlet = sessions[name].outlet
        await until(lambda: outlet.delivering)
        for number in range(100_000):
            outlet.changed("tools")
            outlet.updated(f"notes://dir/{number}", "notes://dir")
            outlet.remarked({"level": "info", "data": "x" * 100})
            if number % 1000 == 0:
                assert (await ask(line, "ping", new=False)).status == 200
        held = len(json.dumps([*outlet._updated, *outlet._remarks]))
        assert held < 64 * 1024
        assert (await events.next())["method"] == CHANGED


ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


async def test_one_principal_has_so_many_and_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_OF_ONE", 2)
    streams = Streams()
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(streams.place(ALICE, lambda: None, None))
        with pytest.raises(Rejected) as refused:
            await stack.enter_async_context(streams.place(ALICE, lambda: None, None))
        assert refused.value.status == 429
        await stack.enter_async_context(streams.place(BOB, lambda: None, None))
    assert not len(streams)
    async with streams.place(ALICE, lambda: None, None):
        assert len(streams) == 1


async def test_all_together_have_so_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST", 1)
    streams = Streams()
    async with streams.place(ALICE, lambda: None, None):
        with pytest.raises(Rejected):
            async with streams.place(BOB, lambda: None, None):
                pass


async def test_a_stream_is_ended_when_its_time_is_up():
    over, up = asyncio.Event(), asyncio.Event()

    async def lasts() -> None:
        await up.wait()

    async with fail_after(10, "a stream"), Streams().place(ALICE, over.set, lasts):
        assert not over.is_set()
        up.set()
        await over.wait()


async def test_all_are_ended_together_and_none_begins_after_that():
    streams, over = Streams(), list[str]()
    async with (
        streams.place(ALICE, lambda: over.append("alice"), None),
        streams.place(BOB, lambda: over.append("bob"), None),
    ):
        streams.close()
        assert over == ["alice", "bob"]
    with pytest.raises(Rejected) as refused:
        async with streams.place(ALICE, lambda: None, None):
            pass
    assert refused.value.status == 503
