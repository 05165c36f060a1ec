"""Clients that are none: what they send, hold and never read disturbs nobody, and does not fill the gateway's memory.

All of them ask the real `bascule serve`, and beside each of them an honest client goes on with its calls.
"""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from support.command import started
from support.gateways import META, ask, introduced
from support.kit_http import NEW, bearer, line_to
from support.ports import free_port
from support.raw_http import Raw, raw_to, request
from support.scenarios import entry, write_yaml
from support.siege import AUTH, Gateway, MiB, besieged
from support.waiting import fail_after


@pytest.fixture
async def gateway(tmp_path: Path) -> AsyncGenerator[Gateway]:
    async with besieged(tmp_path) as made:
        yield made


def encoded(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


HEADERS: list[tuple[dict[str, str | None], str, int, int | None]] = [
    ({}, "", 200, None),
    ({"Mcp-Method": None}, "", 400, -32020),
    ({"Mcp-Method": "tools/list"}, "", 400, -32020),
    ({"Mcp-Method": "TOOLS/CALL"}, "", 400, -32020),
    ({"Mcp-Method": encoded("tools/call")}, "", 400, -32020),
    ({"Mcp-Name": None}, "", 400, -32020),
    ({"Mcp-Name": "work_other"}, "", 400, -32020),
    ({"Mcp-Name": "WORK_ACT"}, "", 400, -32020),
    ({"Mcp-Name": "=?base64?###?="}, "", 400, -32020),
    ({"Mcp-Name": encoded("work_act").replace("?=", "=?=")}, "", 400, -32020),
    ({"Mcp-Name": encoded("work_other")}, "", 400, -32020),
    ({"Mcp-Name": encoded("work_act")}, "", 200, None),
    ({"MCP-Protocol-Version": None}, "", 400, -32020),
    ({"MCP-Protocol-Version": "2025-11-25"}, "", 400, -32020),
    ({"MCP-Protocol-Version": "2099-01-01"}, "", 400, -32020),
    ({}, "Mcp-Method: tools/call", 400, -32020),
    ({}, "mcp-name: work_act", 400, -32020),
    ({}, "MCP-PROTOCOL-VERSION: 2026-07-28", 400, -32020),
    ({}, "Authorization: Bearer x", 400, -32020),
    ({}, "Content-Type: application/json", 400, -32020),
    ({"Host": None}, "", 421, None),
    ({"Host": "evil.test"}, "", 421, None),
    ({"Host": "127.0.0.1.evil.test"}, "", 421, None),
    ({}, "Host: 127.0.0.1", 421, None),
    ({"Origin": "https://evil.test"}, "", 403, None),
    ({"Origin": "null"}, "", 403, None),
    ({"Origin": "http://127.0.0.1:1"}, "", 403, None),
    ({"Content-Type": None}, "", 415, None),
    ({"Content-Type": "text/plain"}, "", 415, None),
    ({"Accept": None}, "", 406, None),
    ({"Accept": "text/html"}, "", 406, None),
    ({"Authorization": None}, "", 401, None),
    ({"Authorization": "Bearer x"}, "", 401, None),
    ({"Authorization": "Basic eDp5"}, "", 401, None),
]


def written(port: int, token: str, changes: dict[str, str | None], more: str) -> bytes:
    usual: dict[str, str | None] = {
        "Host": f"127.0.0.1:{port}",
        "Accept": "*/*",
        "Content-Type": "application/json",
        "Authorization": token,
        "MCP-Protocol-Version": NEW,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "work_act",
    }
    params = {"name": "work_act", "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()
    given = [f"{name}: {value}" for name, value in (usual | changes).items() if value is not None]
    lines = [
        "POST /mcp HTTP/1.1",
        *given,
        *([more] if more else []),
        f"Content-Length: {len(body)}",
        "Connection: close",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


@pytest.mark.requirement("GTW-4")
async def test_a_head_that_disagrees_with_its_body_or_with_itself_is_refused(gateway: Gateway):
    async with gateway.beside():
        for changes, more, status, code in HEADERS:
            async with raw_to(gateway.port) as client:
                client.send(written(gateway.port, gateway.mallory, changes, more))
                answer = await client.all()
            assert answer.startswith(b"HTTP/1.1 %d " % status), (changes, more, answer[:300])
            if code is not None:
                assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == code, (changes, more)


BODIES: list[tuple[bytes, int]] = [
    (b"", 400),
    (b"\xff\xfe\x00", 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"\xc3\x28"}', 400),
    (b"[" * 100_000, 400),
    (b'{"a":' * 100_000, 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 100_000 + b"1" + b"}" * 100_001, 400),
    (b"[" * 100_000 + b"]" * 100_000, 400),
    (b"[]", 400),
    (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400),
    (b"1", 400),
    (b'"ping"', 400),
    (b"null", 400),
    (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', 400),
    (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', 400),
    (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', 400),
    (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400),
    (b'{"jsonrpc":"2.0","id":1,"method":5}', 400),
    (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 400),
    (b'{"id":1,"method":"ping"}', 400),
    (b'{"jsonrpc":"2.0","id":1,"result":{}}', 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":1}}', 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":1' + b"0" * 5000 + b"}}", 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"n":1e99999}}', 400),
    (b'{"jsonrpc":"2.0","id":"' + b"x" * 100_000 + b'","method":"ping"}', 200),
    (b'{"jsonrpc":"2.0","id":1,"id":2,"method":"tools/list","method":"ping"}', 400),
    (b'{"jsonrpc":"2.0","id":1,"method":"ping"}' + b" " * 100_000, 200),
]


@pytest.mark.requirement("GTW-4")
async def test_a_body_that_is_no_message_is_refused_whatever_is_wrong_with_it(gateway: Gateway):
    headers = {"Accept": "*/*", "Authorization": gateway.mallory}
    async with gateway.beside():
        for body, status in BODIES:
            async with line_to(gateway.port) as line:
                answer = await line.send(body, headers)
            assert answer.status == status, (body[:80], answer)


def post(port: int, token: str, *more: str) -> bytes:
    usual = [f"Host: 127.0.0.1:{port}", "Accept: */*", "Content-Type: application/json", f"Authorization: {token}"]
    return "\r\n".join(["POST /mcp HTTP/1.1", *usual, *more, "", ""]).encode()


@pytest.mark.requirement("GTW-4")
async def test_what_is_no_http_or_too_much_of_it_is_refused(gateway: Gateway):
    port, token = gateway.port, gateway.mallory
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    length = f"Content-Length: {len(ping)}"
    cases: list[tuple[bytes, list[int]]] = [
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500, [400]),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00" * 9, [505]),
        (b"\x00" * 5000, [400]),
        (b"x" * 200_000, [400]),
        (b"GET " + b"/" * 200_000, [431]),
        (post(port, token, "X: " + "y" * 100_000, length) + ping, [431]),
        (post(port, token, *["X: y"] * 10_000, length) + ping, [431]),
        (post(port, token, length, "Transfer-Encoding: chunked") + ping, [400]),
        (post(port, token, length, "Content-Length: 3") + ping, [400]),
        (post(port, token, "Content-Length: 1e3") + ping, [400]),
        (post(port, token, "Content-Length: -5") + ping, [400]),
        (post(port, token, "Transfer-Encoding: gzip, identity") + ping, [400]),
        (post(port, token, "Transfer-Encoding: chunked") + b"zz\r\n", [400]),
        (post(port, token, "Transfer-Encoding: chunked") + b"ffffffffffffffffff\r\n", [400]),
        (post(port, token, "Transfer-Encoding: chunked") + b"0\r\n" + b"X: y\r\n" * 10_000, [431]),
        (post(port, token, length) + ping + b"junk that follows", [200]),
        (post(port, token, length) + ping + post(port, token, length) + ping, [200]),
        (post(port, token, f"Content-Length: {len(ping) - 5}") + ping, [400]),
        (post(port, token, length).replace(b"HTTP/1.1", b"HTTP/1.0") + ping, [200]),
        (post(port, token, length).replace(b"HTTP/1.1", b"HTTP/7.7") + ping, [505]),
        (post(port, token, "Content-Length: 0", "Connection: close").replace(b"/mcp", b"/\xff\xfe"), [400]),
        (post(port, token, "Content-Length: 0", "Connection: close").replace(b"POST", b"BREW"), [400]),
        (post(port, token, "Connection: Upgrade", "Upgrade: websocket").replace(b"POST", b"GET"), [405]),
    ]
    async with gateway.beside():
        for sent, statuses in cases:
            async with raw_to(port) as client:
                client.send(sent)
                assert await client.statuses() == statuses, sent[:200]


async def quietly(work: Awaitable[Any]) -> Any:
    """What comes of it, where a client may as well be hung up on."""
    try:
        return await work
    except (ConnectionError, asyncio.IncompleteReadError):
        return None


async def together(works: Iterable[Callable[[], Awaitable[Any]]], at_once: int) -> list[Any]:
    """All of them, so many at a time."""
    waiting, results = iter(works), list[Any]()

    async def worker() -> None:
        for work in waiting:
            results.append(await quietly(work()))

    async with fail_after(300, "all of them"):
        await asyncio.gather(*(worker() for _ in range(at_once)))
    return results


@pytest.mark.requirement("GTW-4")
@pytest.mark.parametrize("chunked", [False, True])
async def test_a_flood_of_large_bodies_takes_no_memory(gateway: Gateway, scale: int, chunked: bool):
    piece = b"x" * MiB
    framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {50 * MiB}"

    async def large() -> int:
        async with raw_to(gateway.port) as client:
            client.send(post(gateway.port, gateway.mallory, framing))
            answer = asyncio.ensure_future(client.reader.readline())
            try:
                for _ in range(50):
                    client.send(b"%x\r\n" % MiB + piece + b"\r\n" if chunked else piece)
                    await client.writer.drain()
            except ConnectionError:
                pass
            return int((await answer).split()[1])

    async with gateway.beside():
        statuses = await together([large] * 20 * scale, at_once=20)
    assert {*statuses} <= {413, 429, None}
    assert 413 in statuses


@pytest.mark.long
@pytest.mark.requirement("GTW-4")
async def test_large_calls_of_many_take_no_memory_without_end_while_they_are_under_way(tmp_path: Path, scale: int):
    """Their server takes one after the other. What is written to it waits in buffers that are not ours to count."""

    async def large(port: int, user: str) -> int:
        async with raw_to(port) as client:
            head = f"Authorization: {bearer(user)}\r\nConnection: close\r\n".encode()
            client.send(request(port, head=head, text="x" * (7 * MiB), result={"content": []}))
            return int((await client.reader.readline()).split()[1])

    together_long = {"stateless": True, "lifetime": "shared", "timeouts": {"call": 120}}
    async with besieged(tmp_path, **together_long) as gateway, gateway.beside():
        gateway.most = 400 * MiB
        calls = [lambda user=f"user-{n}": large(gateway.port, user) for n in range(30 * scale)]
        statuses = await together(calls, at_once=30)
    assert {*statuses} <= {200, 429, None}
    assert statuses.count(200) > 4


@pytest.mark.long
@pytest.mark.requirement("GTW-4")
async def test_heads_that_never_end_and_connections_that_never_speak_are_let_go(gateway: Gateway):
    async with AsyncExitStack() as stack, gateway.beside(20):
        slow = [await stack.enter_async_context(raw_to(gateway.port)) for _ in range(300)]
        for number, client in enumerate(slow):
            client.send(b"POST /mcp HTTP/1.1\r\nHost: x\r\nX: "[: number % 40])

        async def dribble() -> None:
            while True:
                for client in slow:
                    client.send(b"y")
                await asyncio.sleep(0.5)

        dribbling = asyncio.ensure_future(dribble())
        try:
            endings = await asyncio.gather(*(client.statuses() for client in slow))
        finally:
            dribbling.cancel()
    assert {status for ending in endings for status in ending} <= {408, 400}


@pytest.mark.requirement("GTW-4")
@pytest.mark.long
async def test_bodies_that_never_come_take_a_share_of_the_room_and_leave_the_rest(gateway: Gateway):
    """Whose they are is known, so they are let to wait; but there may be only so many, and so large."""
    large = post(gateway.port, gateway.mallory, f"Content-Length: {8 * MiB}") + b"{"
    small = post(gateway.port, gateway.mallory, "Content-Length: 1000") + b"{"
    async with AsyncExitStack() as stack, gateway.beside(20):

        async def begun(data: bytes) -> Raw:
            client = await stack.enter_async_context(raw_to(gateway.port))
            client.send(data)
            return client

        held = [await begun(large) for _ in range(10)] + [await begun(small) for _ in range(300)]
        first, *_ = await asyncio.gather(*(client.reader.readline() for client in held[2:4]))
        assert first.startswith(b"HTTP/1.1 429")
        async with fail_after(30, "an answer to one of too many"):
            assert (await held[-1].reader.readline()).startswith(b"HTTP/1.1 429")
        async with line_to(gateway.port) as line:
            big = {"name": "work_act", "arguments": {"text": "x" * MiB}}
            assert (await ask(line, "tools/call", big, Authorization=bearer("bob"))).status == 200


@pytest.mark.long
@pytest.mark.requirement("GTW-4")
async def test_answers_that_nobody_reads_take_no_memory_without_end(gateway: Gateway, scale: int):
    async with AsyncExitStack() as stack:

        async def never_read() -> None:
            client = await stack.enter_async_context(raw_to(gateway.port))
            client.stop_reading()
            head = f"Authorization: {gateway.mallory}\r\n".encode()
            client.send(request(gateway.port, head=head, text="x" * (7 * MiB)))

        async with gateway.beside(20):
            for _ in range(5 * scale):
                await together([never_read] * 8, at_once=8)
                answered = len(gateway.statuses)
                while len(gateway.statuses) < answered + 5:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)


@pytest.mark.requirement("GTW-4")
@pytest.mark.long
async def test_tokens_that_are_wrong_are_looked_at_only_so_often(gateway: Gateway):
    async def wrong(number: int) -> int:
        async with line_to(gateway.port) as line:
            token = bearer("mallory", nonce=number)[:-4] + "AAAA"
            return (await ask(line, "tools/list", Authorization=token)).status

    async with gateway.beside(20):
        statuses = await together([lambda n=n: wrong(n) for n in range(400)], at_once=200)
    assert {*statuses} == {401, 429}
    assert statuses.count(429) > 100


@pytest.mark.requirement("GTW-4")
@pytest.mark.long
async def test_connections_that_come_and_go_disturb_nobody(gateway: Gateway, scale: int):
    async def knock(port: int) -> None:
        async with raw_to(port):
            pass

    async with gateway.beside(20):
        await together([lambda: knock(gateway.port)] * 1000 * scale, at_once=100)


@pytest.mark.long
@pytest.mark.requirement("GTW-4")
async def test_more_connections_than_there_is_room_for_push_out_the_silent_ones(tmp_path: Path):
    """With so few descriptors that all of it can be seen."""
    import resource

    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    port = free_port()
    path = write_yaml(tmp_path, {"work": entry("obeying", tmp_path / "log")}, gateway={"port": port, "auth": AUTH})
    async with started(tmp_path, "serve", "--config", str(path), "--json") as process:
        resource.prlimit(process.pid, resource.RLIMIT_NOFILE, (256, hard))
        assert process.stdout is not None
        async with fail_after(60, "a gateway"):
            await process.stdout.readline()
        gateway = Gateway(port, process.pid)
        async with AsyncExitStack() as stack, gateway.beside(20):
            silent = [await stack.enter_async_context(raw_to(port)) for _ in range(400)]
            pushed_out = await asyncio.gather(*(client.all() for client in silent[:200]))
        assert {*pushed_out} == {b""}
        assert process.returncode is None


@pytest.mark.requirement("GTW-4")
async def test_an_old_session_is_not_disturbed_either(gateway: Gateway):
    """A long answer, a stream of events and a client that hangs up in the middle of them."""
    alice = bearer("alice")
    async with line_to(gateway.port) as line:
        session = await introduced(line, Authorization=alice)
        async with gateway.beside():
            for _ in range(20):
                async with raw_to(gateway.port) as client:
                    client.send(request(gateway.port, head=f"Authorization: {gateway.mallory}\r\n".encode(), sleep=0.1))
        assert (await ask(line, "ping", new=False, Authorization=alice, Mcp_Session_Id=session)).status == 200
