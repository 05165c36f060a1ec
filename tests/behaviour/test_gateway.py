"""One endpoint for every MCP client, in front of all servers."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from support.command import bascule, started
from support.gateways import ask
from support.kit_http import bearer, line_to
from support.peers import clock
from support.ports import free_port
from support.scenarios import entry, write_yaml
from support.servers import received
from support.tokens import AUDIENCE, ISSUER, SECRET
from support.waiting import fail_after

AUTH = {"keys": [{"algorithm": "HS256", "secret": SECRET}], "issuer": ISSUER, "audience": AUDIENCE}


@asynccontextmanager
async def served(
    folder: Path, *words: str, servers: dict[str, Any] | None = None, known_as: str = "", **gateway: Any
) -> AsyncGenerator[int]:
    """`bascule serve` while it runs. Gives its port, and ends it as Ctrl-C does."""
    port = free_port()
    path = write_yaml(folder, servers or {"work": entry("obeying", folder / "log")}, gateway={"port": port, **gateway})
    async with (
        started(folder, "serve", "--config", str(path), "--json", *words) as process,
        fail_after(60, "a gateway"),
    ):
        assert process.stdout is not None
        told = json.loads(await process.stdout.readline())
        assert told["url"] == (known_as or f"http://127.0.0.1:{port}/mcp")
        yield port
        process.send_signal(signal.SIGINT)
        assert await process.wait() == 0


@pytest.mark.requirement("GTW-1")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_official_client_lists_and_calls_through_it_in_either_era(tmp_path: Path, mode: Any):
    command, *args = clock()
    servers = {"clock": {"command": command, "args": args}, "work": entry("obeying", tmp_path / "log")}
    async with (
        served(tmp_path, "--dev", servers=servers) as port,
        Client(f"http://127.0.0.1:{port}/mcp", mode=mode) as client,
    ):
        names = [tool.name for tool in (await client.list_tools()).tools]
        told = await client.call_tool("clock_get_current_time", {"timezone": "UTC"})
        wrong = await client.call_tool("clock_get_current_time", {"timezone": 5})
    assert names == ["clock_get_current_time", "clock_convert_time", "work_act"]
    assert not told.is_error
    assert wrong.is_error


@pytest.mark.requirement("GTW-2")
async def test_a_caller_is_who_its_token_says_and_the_token_stays_here(tmp_path: Path):
    token = bearer("alice")
    async with served(tmp_path, auth=AUTH) as port, line_to(port) as line:
        nobody = await ask(line, "tools/call", {"name": "work_act"})
        alice = await ask(line, "tools/call", {"name": "work_act"}, Authorization=token)
    assert (nobody.status, alice.status) == (401, 200)
    assert len([message for message in received(tmp_path / "log") if message.get("method") == "tools/call"]) == 1
    assert token.removeprefix("Bearer ") not in (tmp_path / "log").read_text()
    audited = await bascule(tmp_path, "audit", "show", "--user", "alice", "--json")
    kinds = {record["kind"]: record for record in json.loads(audited.out)["records"]}
    assert kinds["ended"]["tool"] == "act", kinds


@pytest.mark.requirement("GTW-2")
async def test_a_gateway_is_known_as_the_address_that_it_is_given(tmp_path: Path):
    words = ("--host", "127.0.0.1", "--url", "https://tools.example/mcp")
    async with served(tmp_path, *words, auth=AUTH, known_as="https://tools.example/mcp") as port, line_to(port) as line:
        nobody = await ask(line, "tools/list", Host="tools.example")
    assert nobody.status == 401
    assert 'resource_metadata="https://tools.example/' in nobody.headers["www-authenticate"]


@pytest.mark.requirement("GTW-2")
@pytest.mark.parametrize("words", [(), ("--host", "0.0.0.0", "--dev"), ("--host", "192.0.2.7", "--dev")])
async def test_nobody_is_served_without_a_token_but_on_this_machine_and_when_asked_for(
    tmp_path: Path, words: tuple[str, ...]
):
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")})
    ran = await bascule(tmp_path, "serve", "--config", str(path), *words)
    assert ran.code == 2
    assert "BSC-100" in ran.err
    assert not (tmp_path / "log").exists()


@pytest.mark.requirement("GTW-4")
@pytest.mark.parametrize(
    ("start", "status"),
    [
        ("POST http://127.0.0.1:{port}/mcp HTTP/1.1", 200),
        ("POST http://evil.test/mcp HTTP/1.1", 400),
        ("POST /mcp HTTP/2.0", 505),
        ("POST /mcp HTTP/3.0", 505),
    ],
)
async def test_the_request_line_fits_the_host_and_the_protocol(tmp_path: Path, start: str, status: int):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}).encode()
    async with served(tmp_path, "--dev") as port, line_to(port) as line:
        answered = await line.send(body, {"Accept": "*/*"}, ask=start.format(port=port))
    assert answered.status == status, answered


TWICE = [
    (b'"name": "work_act"', b'"name": "work_act", "name": "work_act"', "name"),
    (b'"method": "tools/call"', b'"method": "tools/list", "method": "tools/call"', "method"),
    (b'{"deep": 1}', b'{"deep": 1, "\\u0064eep": 2}', "deep"),
]
"""A part of a call, the same with a key twice, and that key."""


@pytest.mark.requirement("LIM-1")
@pytest.mark.parametrize("length", [10, 100_000])
async def test_a_call_with_a_duplicate_key_is_rejected_and_not_made(tmp_path: Path, length: int):
    arguments = {"list": [{"deep": 1}], "text": "x" * length}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "work_act", "arguments": arguments}}
    body = json.dumps(call).encode()
    async with served(tmp_path, "--dev") as port, line_to(port) as line:
        for once, twice, key in TWICE:
            assert body.count(once) == 1
            rejected = await line.send(body.replace(once, twice), {"Accept": "*/*"})
            assert rejected.status == 400
            said = {"code": -32600, "message": f"an object of the message has the key {key!r} twice"}
            assert rejected.message == {"jsonrpc": "2.0", "id": None, "error": said}
        made = await line.send(body, {"Accept": "*/*"})
    assert made.status == 200
    assert [each.get("method") for each in received(tmp_path / "log")].count("tools/call") == 1


@pytest.mark.requirement("GTW-4")
async def test_what_no_client_sends_disturbs_nobody(tmp_path: Path):
    async with served(tmp_path, "--dev") as port:

        async def junk(head: dict[str, str], body: bytes) -> int:
            async with line_to(port) as line:
                return (await line.send(body, {"Accept": "*/*", **head})).status

        async def honest() -> int:
            async with line_to(port) as line:
                return (await ask(line, "tools/call", {"name": "work_act"})).status

        bad = [
            ({"Content-Length": str(50 << 20)}, b""),
            ({"Host": "evil.test"}, b"{}"),
            ({"Origin": "https://evil.test"}, b"{}"),
            ({"Content-Type": "text/plain"}, b"{}"),
            ({}, b"\xff\xfe"),
            ({}, b"[" * 5000),
        ]
        statuses, good = await asyncio.gather(
            asyncio.gather(*(junk(head, body) for head, body in bad)), asyncio.gather(*(honest() for _ in range(8)))
        )
    assert statuses == [413, 421, 403, 415, 400, 400]
    assert good == [200] * 8
