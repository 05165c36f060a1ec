"""WebSockets and socket files, from the config file to the wire."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bascule import Runtime
from bascule.core.errors import ConfigError, LoginNeeded
from support.command import bascule
from support.contract import answer_over_http, server_object
from support.http_servers import Asked, http_reply, raw_server, raw_unix_server
from support.runtime import good
from support.scenarios import from_file, write_mcp_json, write_yaml
from support.ws_servers import accepting, sdk_ws_server, ws_server

TOKEN = "s3cret-of-alice"


async def scripted(connection: Any) -> None:
    """A server of the new era, in a few lines of our own."""
    async for text in connection:
        message = json.loads(text)
        answers = {
            "server/discover": {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}},
            "tools/list": {"tools": [{"name": "who", "inputSchema": {"type": "object"}}]},
            "tools/call": {"content": [{"type": "text", "text": connection.request.headers["Authorization"]}]},
        }
        if "id" in message:
            result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **answers[message["method"]]}
            await connection.send(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))


@pytest.mark.requirement("TRN-3")
async def test_a_websocket_in_our_file_is_listed_and_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TOKEN", TOKEN)
    async with ws_server(scripted) as url:
        path = write_yaml(tmp_path, {"far": {"url": url, "headers": {"Authorization": "Bearer ${TOKEN}"}}})
        async with from_file(path) as session:
            result = good(await session.call("far_who", {}))
            (report,) = session.servers()

    assert result.text == f"Bearer {TOKEN}"
    assert (report.transport, report.state) == ("ws", "ready")


@pytest.mark.requirement("TRN-3")
async def test_a_websocket_in_a_foreign_file_keeps_its_meaning(tmp_path: Path):
    async with (
        sdk_ws_server(server_object()) as url,
        from_file(write_mcp_json(tmp_path, {"far": {"type": "ws", "url": url}})) as session,
    ):
        assert json.loads(good(await session.call("far_act", {"a": 1})).text) == {"a": 1}


@pytest.mark.requirement("TRN-3")
async def test_the_command_shows_a_websocket_as_such(tmp_path: Path):
    async with sdk_ws_server(server_object()) as url:
        write_mcp_json(tmp_path, {"far": {"url": url}})
        ran = await bascule(tmp_path, "list", "--json")

    assert ran.code == 0, ran.err
    assert [(server["transport"], server["state"]) for server in ran.json["servers"]] == [("ws", "ready")]


@pytest.mark.requirement("TRN-3")
@pytest.mark.parametrize(
    "secret", ["ws://alice:{}@a.test/", "ws://a.test/?token={}", "wss://a.test/mcp?access_token={}"]
)
def test_a_credential_in_the_address_of_a_websocket_is_refused_and_not_repeated(tmp_path: Path, secret: str):
    path = write_yaml(tmp_path, {"far": {"url": secret.format(TOKEN)}})
    with pytest.raises(ConfigError) as caught:
        Runtime.from_file(path)

    (problem,) = caught.value.problems
    assert "mcp_servers.far.url: " in problem
    assert "`headers`" in problem
    assert TOKEN not in f"{caught.value}{caught.value.evidence}"


@pytest.mark.requirement("TRN-3", "TRN-10")
async def test_a_websocket_that_wants_a_login_says_so(tmp_path: Path):
    async def refuse(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(b"", "401 Unauthorized", WWW_Authenticate="Bearer"))

    async with raw_server(refuse) as server:
        url = server.url.replace("http:", "ws:")
        async with from_file(write_yaml(tmp_path, {"far": {"url": url}})) as session:
            report = await session.settle("far")

    assert isinstance(report.error, LoginNeeded)
    assert report.error.evidence == "HTTP 401, WWW-Authenticate: Bearer"


@pytest.mark.requirement("TRN-3")
async def test_what_a_broken_websocket_says_is_told_without_our_secret(tmp_path: Path):
    async def close(writer: asyncio.StreamWriter) -> None:
        reason = f"no such token: {TOKEN}".encode()
        writer.write(bytes([0x88, len(reason) + 2]) + (4001).to_bytes(2) + reason)

    async with raw_server(accepting(close)) as server:
        headers = {"Authorization": TOKEN}
        entry = {"url": server.url.replace("http:", "ws:"), "headers": headers, "timeouts": {"close": 0.1}}
        async with from_file(write_yaml(tmp_path, {"far": entry})) as session:
            report = await session.settle("far")

    assert report.error is not None
    assert "the server closed the connection: no such token: ***" in report.error.message
    assert TOKEN not in f"{report.error.message}{report.error.evidence}{report.reason}"


@pytest.mark.requirement("TRN-5")
@pytest.mark.parametrize("path", ["", ":/mcp", ":/other"])
async def test_a_socket_file_in_our_file_is_listed_and_called(tmp_path: Path, path: str):
    async with raw_unix_server(answer_over_http) as server:
        entry = {"url": f"unix://{server.socket}{path}", "headers": {"X-Twin": "yes"}}
        async with from_file(write_yaml(tmp_path, {"twin": entry})) as session:
            result = good(await session.call("twin_act", {"a": 1}))
            (report,) = session.servers()

    assert json.loads(result.text) == {"a": 1}
    assert (report.transport, report.state) == ("unix", "ready")
    assert {asked.path for asked in server.asked} == {path.lstrip(":") or "/mcp"}
    assert {asked.headers["x-twin"] for asked in server.asked} == {"yes"}


@pytest.mark.requirement("TRN-5")
async def test_a_socket_file_that_is_not_there_is_told_with_its_path(tmp_path: Path):
    write_yaml(tmp_path, {"twin": {"url": f"unix://{tmp_path}/no.sock", "required": True}})
    ran = await bascule(tmp_path, "list", "--json")

    assert ran.code == 3
    (server,) = ran.json["servers"]
    assert server["error"]["code"] == "BSC-401"
    assert f"{tmp_path}/no.sock" in server["error"]["message"]


@pytest.mark.requirement("TRN-5")
@pytest.mark.parametrize("url", ["unix://x.sock", "unix:x.sock", "unix:///run/"])
def test_a_path_that_is_no_whole_one_is_refused(tmp_path: Path, url: str):
    with pytest.raises(ConfigError, match=r"mcp_servers\.twin\.url"):
        Runtime.from_file(write_yaml(tmp_path, {"twin": {"url": url}}))


@pytest.mark.requirement("TRN-3", "TRN-5")
def test_an_address_and_a_word_for_the_transport_that_contradict_each_other_are_told(tmp_path: Path):
    servers = {
        "a": {"url": "https://a.test", "transport": "ws"},
        "b": {"url": "wss://b.test", "transport": "http"},
        "c": {"url": "unix:///c.sock", "transport": "sse"},
    }
    with pytest.raises(ConfigError) as caught:
        Runtime.from_file(write_yaml(tmp_path, servers))

    assert ["transport: says" in problem for problem in caught.value.problems] == [True] * 3
