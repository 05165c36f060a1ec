"""That a client has other roots now reaches the servers that were told of roots, which then ask for them."""

import warnings
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import ListRootsResult, Root
from pydantic import FileUrl

from bascule.config import ServerConfig, StdioTransport, StreamableHttpTransport
from bascule.core.sensitivity import DataSensitivity
from servers.rooted import Rooted
from support.gateways import AUTH, serving
from support.http_servers import sdk_server
from support.kit_http import bearer
from support.old_client import old_client
from support.runtime import TIMEOUTS, twinned
from support.servers import SERVERS, received
from support.stdio_clients import as_command
from support.waiting import until
from support.warm import python

pytestmark = pytest.mark.requirement("GTW-3")
SCRIPT = str(SERVERS / "rooted.py")
CHANGED = {"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}


class Folders:
    """A client, and the folders that it works in now."""

    def __init__(self, *uris: str) -> None:
        self.uris = uris

    async def list(self, context: Any) -> ListRootsResult:
        return ListRootsResult(roots=[Root(uri=FileUrl(uri)) for uri in self.uris])

    @asynccontextmanager
    async def at(self, where: int | StdioServerParameters, mode: Any = "legacy") -> AsyncGenerator[Client]:
        place = f"http://127.0.0.1:{where}/mcp" if isinstance(where, int) else where
        async with Client(place, mode=mode, list_roots_callback=self.list) as client:
            yield client


async def say_changed(client: Client) -> None:
    with warnings.catch_warnings():
        # Roots are on their way out, and still there.
        warnings.simplefilter("ignore")
        await client.session.send_roots_list_changed()  # pyright: ignore[reportDeprecated]


def rooted(log: Path, name: str = "it") -> ServerConfig:
    transport = StdioTransport(command=python(), args=(SCRIPT, str(log)))
    return ServerConfig(name=name, transport=transport, era="old", timeouts=TIMEOUTS)


def noted(log: Path, what: str) -> list[Any]:
    return [message[what] for message in received(log) if what in message]


@pytest.mark.parametrize("kind", ["stdio", "http"])
async def test_a_server_that_was_told_of_roots_hears_that_they_are_others_and_gets_them(tmp_path: Path, kind: str):
    log, other, folders = tmp_path / "log", tmp_path / "other", Folders("file:///old")
    async with (
        sdk_server(Rooted(log).server) as url,
        serving(
            rooted(log)
            if kind == "stdio"
            else ServerConfig("it", StreamableHttpTransport(url=url), era="old", timeouts=TIMEOUTS),
            rooted(other, "other"),
            within=60,
        ) as gateway,
        folders.at(gateway.port) as client,
    ):
        await client.call_tool("other_rest")
        await client.call_tool("it_look")
        assert noted(log, "roots") == [["file:///old"]]
        folders.uris = ("file:///new", "file:///more")
        await say_changed(client)
        await until(lambda: noted(log, "roots")[1:] == [["file:///new", "file:///more"]])
        await client.call_tool("other_rest")
    assert noted(log, "changed") == [True]
    # It never asked for roots, so that it is none of its business.
    assert received(other) == [{"call": "rest"}] * 2


async def test_the_client_of_a_command_is_asked_for_them_too(tmp_path: Path):
    log, folders = tmp_path / "log", Folders("file:///old")
    script = {"it": {"command": python(), "args": [SCRIPT, str(log)], "era": "old"}}
    async with as_command(tmp_path, script) as command, folders.at(command) as client:
        await client.call_tool("it_look")
        folders.uris = ("file:///new",)
        await say_changed(client)
        await until(lambda: noted(log, "roots") == [["file:///old"], ["file:///new"]])


async def test_servers_of_other_principals_hear_nothing_of_it(tmp_path: Path):
    log = tmp_path / "log"
    roots: dict[str, Any] = {"roots": {"listChanged": True}}
    async with (
        serving(rooted(log), auth=AUTH, within=60) as gateway,
        old_client(gateway.port, roots, Authorization=bearer("alice")) as hers,
        old_client(gateway.port, roots, Authorization=bearer("bob")) as his,
        old_client(gateway.port, {}, Authorization=bearer("bob")) as without,
    ):
        for client in (hers, his):
            async with client.call("it_look") as messages:
                await client.answer(await anext(messages), {"roots": [{"uri": "file:///a"}]})
                assert "result" in await anext(messages)
        # A client that has no roots has no others either.
        assert await without.post(CHANGED) == 202
        assert await his.post(CHANGED) == 202
        # He has no stream on which he could be asked for them.
        await until(lambda: noted(log, "refused") == [-32603])
        for client in (hers, his):
            async with client.call("it_rest") as messages:
                assert "result" in [message async for message in messages][-1]
    assert noted(log, "changed") == [True]


async def test_once_private_data_is_on_board_the_open_server_hears_nothing_more(tmp_path: Path):
    log, twin, folders = tmp_path / "log", tmp_path / "twin", Folders("file:///old")
    async with (
        serving(twinned(rooted(log), rooted(twin)), within=60) as gateway,
        folders.at(gateway.port) as client,
    ):
        await client.call_tool("it_look")
        await gateway.runtime.session("alice", "s-1").add_private_dataset("patients", DataSensitivity.CONFIDENTIAL)
        before = log.read_bytes()
        folders.uris = ("file:///private",)
        await say_changed(client)
        await client.call_tool("it_look")
        await say_changed(client)
        await until(lambda: noted(twin, "changed") == [True])
        await until(lambda: noted(twin, "roots") == [["file:///private"]] * 2)
    assert log.read_bytes() == before


@pytest.mark.long
async def test_a_client_that_says_so_all_the_time_is_passed_on_now_and_then(tmp_path: Path):
    log, folders = tmp_path / "log", Folders("file:///old")
    async with serving(rooted(log), within=60) as gateway, folders.at(gateway.port) as client:
        await client.call_tool("it_look")
        for _ in range(200):
            await say_changed(client)
        folders.uris = ("file:///last",)
        await say_changed(client)
        await until(lambda: noted(log, "roots")[-1] == ["file:///last"])
    assert len(noted(log, "changed")) < 20


async def test_a_client_of_the_new_era_has_no_word_for_it(tmp_path: Path):
    log, folders = tmp_path / "log", Folders("file:///old")
    async with serving(rooted(log), within=60) as gateway, folders.at(gateway.port, "2026-07-28") as client:
        await client.call_tool("it_look")
        await say_changed(client)
        await client.call_tool("it_rest")
    assert not noted(log, "changed")
