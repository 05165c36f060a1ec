"""What changes and is said on the servers' side reaches the gateway's clients, whatever era each of them speaks."""

import asyncio
import os
import signal
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from mcp import StdioServerParameters

from bascule.core.sensitivity import DataSensitivity
from support.command import BASCULE, environment
from support.gateways import AUTH, ask, introduced, line_to, serving
from support.hearing import URI, Era, hearing, listened, stream, telling, told
from support.kit_http import bearer
from support.memory import measured_growth
from support.runtime import QUICKLY, TIMEOUTS, twinned
from support.scenarios import write_yaml
from support.servers import SERVERS, pids, received
from support.survivors import end_all, survivors
from support.waiting import until
from support.warm import python

PAIRS = [
    pytest.param(client, server, kind, id=f"{client} client, {server} server over {kind}")
    for client in get_args(Era)
    for server in get_args(Era)
    for kind in ("stdio", "http")
]


@pytest.mark.requirement("GTW-3")
@pytest.mark.requirement("CAT-9")
@pytest.mark.parametrize(("client", "server", "kind"), PAIRS)
async def test_a_list_that_changes_is_told_and_is_another_one_then(tmp_path: Path, client: Era, server: Era, kind: Any):
    async with (
        telling(kind, server, tmp_path / "log") as config,
        serving(config) as gateway,
        hearing(gateway.port, client) as heard,
    ):
        await heard.client.call_tool("work_learn", {"kind": "tools", "name": "more"})
        await told(lambda: "tools" in heard.changed)
        assert "work_more" in [tool.name for tool in (await heard.client.list_tools()).tools]
        await heard.client.call_tool("work_learn", {"kind": "resources", "name": "notes://three"})
        await told(lambda: "resources" in heard.changed)
        assert "notes://three" in [str(each.uri) for each in (await heard.client.list_resources()).resources]
        await heard.client.call_tool("work_learn", {"kind": "prompts", "name": "part"})
        await told(lambda: "prompts" in heard.changed)
        assert "work_part" in [each.name for each in (await heard.client.list_prompts()).prompts]
        assert heard.changed == ["tools", "resources", "prompts"]


@pytest.mark.requirement("GTW-3")
@pytest.mark.requirement("CAT-9")
@pytest.mark.parametrize(("client", "server", "kind"), PAIRS)
async def test_who_subscribed_to_a_resource_hears_of_it_and_nobody_else(
    tmp_path: Path, client: Era, server: Era, kind: Any
):
    async with (
        telling(kind, server, tmp_path / "log") as config,
        serving(config) as gateway,
        hearing(gateway.port, client, uris=(URI,)) as heard,
        hearing(gateway.port, client, uris=("notes://two",)) as other,
    ):
        await heard.client.call_tool("work_touch", {"uri": URI})
        await told(lambda: heard.updated == [URI])
        await heard.client.call_tool("work_touch", {"uri": "notes://two"})
        await told(lambda: other.updated == ["notes://two"])
        assert heard.updated == [URI]


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize(("client", "server", "kind"), PAIRS)
async def test_what_a_server_remarks_reaches_the_client_that_asked(tmp_path: Path, client: Era, server: Era, kind: Any):
    async with (
        telling(kind, server, tmp_path / "log") as config,
        serving(config) as gateway,
        hearing(gateway.port, client, log_level="info") as heard,
        hearing(gateway.port, client, log_level="info") as other,
    ):
        if client == "old":
            await heard.ask_for("info")
        for level in ("debug", "info", "error"):
            await heard.client.call_tool("work_say", {"level": level, "text": f"this is {level}"})
        await told(lambda: len(heard.logs) == 2)
        said = [(each.level, each.logger, each.data) for each in heard.logs]
        assert said == [("info", "work", "this is info"), ("error", "work", "this is error")]
        assert not other.logs


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("server", get_args(Era))
@pytest.mark.parametrize("client", get_args(Era))
@pytest.mark.long
async def test_the_client_of_a_command_is_told_the_same(tmp_path: Path, client: Era, server: Era):
    marker = f"told-{tmp_path.name}-{os.getpid()}"
    script = {"command": python(), "args": [str(SERVERS / "telling.py"), str(tmp_path / "log")], "era": server}
    path = write_yaml(tmp_path, {"work": script})
    env = {**environment(tmp_path), "BASCULE_MARKER": marker}
    args = ["serve", "--stdio", "--config", str(path)]
    command = StdioServerParameters(command=str(BASCULE), args=args, env=env)
    try:
        async with hearing(command, client, uris=(URI,), log_level="info") as heard:
            await heard.client.call_tool("work_learn", {"kind": "tools", "name": "more"})
            await told(lambda: heard.changed == ["tools"])
            await heard.client.call_tool("work_touch", {"uri": URI})
            await told(lambda: heard.updated == [URI])
            await heard.client.call_tool("work_say", {"level": "error", "text": "this"})
            await told(lambda: [each.data for each in heard.logs] == ["this"])
        assert await survivors(marker) == []
    finally:
        end_all(marker)


# Subscriptions


def noted(log: Path, what: str) -> list[Any]:
    return [message[what] for message in received(log) if what in message]


def wanted(log: Path, era: Era, uri: str = URI) -> bool:
    """Whether the server was asked to tell of a resource, in its own era's way."""
    if era == "old":
        return uri in noted(log, "subscribe")
    return any(uri in each.get("resourceSubscriptions", ()) for each in noted(log, "listen"))


def given_up(log: Path, era: Era) -> bool:
    """Whether it knows that nobody wants to hear of it any more."""
    if era == "old":
        return noted(log, "unsubscribe") == [URI]
    return any(URI in each.get("resourceSubscriptions", ()) for each in noted(log, "listened"))


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("server", get_args(Era))
@pytest.mark.parametrize("client", get_args(Era))
async def test_a_subscription_outlives_its_server_and_ends_with_the_last_client(
    tmp_path: Path, client: Era, server: Era
):
    log = tmp_path / "log"
    async with (
        telling("stdio", server, log, restart=QUICKLY) as config,
        serving(config, within=60) as gateway,
        hearing(gateway.port, client) as staying,
    ):
        async with hearing(gateway.port, client, uris=(URI,)) as heard:
            os.kill(pids(log)[0], signal.SIGKILL)
            # Nobody knows what has happened to it meanwhile.
            await told(lambda: heard.updated == [URI])
            await staying.client.call_tool("work_touch", {"uri": URI})
            await told(lambda: heard.updated == [URI] * 2)
            assert not given_up(log, server) or server == "new"
            async with hearing(gateway.port, client, uris=(URI,)) as second:
                await staying.client.call_tool("work_touch", {"uri": URI})
                # Both, before it changes again: what one was not told yet would be told as one with what comes next.
                await told(lambda: second.updated == [URI] and heard.updated == [URI] * 3)
            await staying.client.call_tool("work_touch", {"uri": URI})
            await told(lambda: heard.updated == [URI] * 4)
        await until(lambda: given_up(log, server))
        assert not staying.updated


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("server", get_args(Era))
@pytest.mark.parametrize("client", get_args(Era))
async def test_once_private_data_is_on_board_the_twin_tells_and_the_server_hears_nothing_more(
    tmp_path: Path, client: Era, server: Era
):
    open_log, twin_log = tmp_path / "open", tmp_path / "twin"
    async with (
        telling("stdio", server, open_log) as config,
        telling("stdio", server, twin_log) as twin,
        serving(twinned(config, twin), within=60) as gateway,
        hearing(gateway.port, client, uris=(URI,)) as heard,
    ):
        assert wanted(open_log, server)
        await gateway.runtime.session("alice", "s-1").add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
        before = open_log.read_bytes()
        await told(lambda: wanted(twin_log, server) and heard.updated == [URI])
        await heard.client.call_tool("work_touch", {"uri": URI})
        await told(lambda: heard.updated == [URI] * 2)
    assert open_log.read_bytes() == before


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("server", get_args(Era))
@pytest.mark.parametrize("new", [True, False])
async def test_what_may_not_be_read_may_not_be_subscribed_to(tmp_path: Path, server: Era, new: bool):
    log = tmp_path / "log"
    async with (
        telling("stdio", server, log) as config,
        serving(config, within=60) as gateway,
        line_to(gateway.port) as line,
    ):
        session = gateway.runtime.session("alice", "s-1")
        await session.resources()
        await session.add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
        if new:
            async with listened(gateway.port, resourceSubscriptions=[URI], toolsListChanged=True) as events:
                assert (await events.next())["params"]["notifications"] == {"toolsListChanged": True}
        else:
            name = await introduced(line)
            answer = await ask(line, "resources/subscribe", {"uri": URI}, new=False, Mcp_Session_Id=name)
            assert "error" in answer.message
    assert not wanted(log, server)


# Whose news it is

EVERYTHING = {f"{kind}ListChanged": True for kind in ("tools", "resources", "prompts")}


@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("new", [True, False])
async def test_nobody_is_told_what_changes_for_somebody_else(tmp_path: Path, new: bool):
    tokens: dict[str, dict[str, Any]] = {who: {"Authorization": bearer(who)} for who in ("alice", "bob")}
    async with (
        telling("stdio", "old", tmp_path / "log") as config,
        serving(config, auth=AUTH, within=60) as gateway,
        line_to(gateway.port) as line,
        AsyncExitStack() as stack,
    ):
        streams: dict[str, Any] = {}
        for who, token in tokens.items():
            await ask(line, "tools/list", **token)
            if new:
                opened = listened(gateway.port, token, **EVERYTHING)
            else:
                head = {**token, "Mcp-Session-Id": await introduced(line, **token)}
                opened = stream(gateway.port, "GET", head)
            streams[who] = await stack.enter_async_context(opened)
            if new:
                await streams[who].next()

        async def learn(who: str, kind: str) -> str:
            """Have the server of one of them learn something. Gives what they are told next."""
            given = {"name": "work_learn", "arguments": {"kind": kind, "name": f"of-{who}"}}
            await ask(line, "tools/call", given, **tokens[who])
            return (await streams[who].next())["method"]

        assert await learn("alice", "tools") == "notifications/tools/list_changed"
        # Had he been told of hers, that would come first.
        assert await learn("bob", "resources") == "notifications/resources/list_changed"
        assert await learn("alice", "prompts") == "notifications/prompts/list_changed"


# Floods


@pytest.mark.long
@pytest.mark.requirement("GTW-3")
@pytest.mark.parametrize("client", get_args(Era))
@pytest.mark.parametrize(("what", "count"), [("log", 20_000), ("resources", 100_000)])
async def test_a_server_that_never_stops_talking_disturbs_nobody(tmp_path: Path, client: Era, what: str, count: int):
    async with (
        # Of a call that ran out of time, what is still said belongs to no request, and is told on another stream.
        telling("stdio", "old", tmp_path / "log", timeouts=replace(TIMEOUTS, call=120)) as config,
        telling("stdio", "new", tmp_path / "other", name="quiet") as quiet,
        serving(config, quiet, within=120) as gateway,
        hearing(gateway.port, client, log_level="debug") as heard,
    ):
        with measured_growth() as growth:
            flooding = asyncio.ensure_future(heard.client.call_tool("work_flood", {"what": what, "count": count}))
            answered = 0
            while not flooding.done():
                told_now = await heard.client.call_tool("quiet_touch", {"uri": "notes://none"})
                answered += not told_now.is_error
            flooded = await flooding
        assert not flooded.is_error
        assert answered > 10
        # Far fewer than there were: a burst is one piece of news, and of remarks so many are told and the rest counted.
        await told(lambda: bool(heard.logs if what == "log" else heard.changed))
        assert len(heard.changed) < 100
        assert len(heard.logs) <= 1002
        assert growth.peak < 64 << 20
