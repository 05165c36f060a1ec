"""Connections, as clients open them who speak bad HTTP, or none."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from bascule.gateway.http import backpressure, connection, connection_limit, server
from bascule.gateway.http.backpressure import Outflow
from bascule.gateway.http.connection import Connection, Lateness
from bascule.gateway.http.head_cache import MOST_ALTOGETHER, Acquaintance
from support.gateways import Served, ask, line_to
from support.gateways import serving as gateway_serving
from support.raw_http import Raw, raw_to, request
from support.runtime import a_tool, calls_in, obeying
from support.waiting import fail_after, until

SOON, NEVER = 0.05, 600.0


@pytest.fixture
async def served(tmp_path: Path) -> AsyncGenerator[Served]:
    async with gateway_serving(obeying(tmp_path / "log", a_tool("act"))) as made:
        yield made


async def healthy(served: Served) -> None:
    async with line_to(served.port) as line:
        assert (await ask(line, "tools/call", {"name": "work_act"})).status == 200


@pytest.mark.parametrize("sent", [b"", b"POST /mcp HTTP/1.1\r\nHost: x\r\nA: ", b"\r\n\r\n"])
async def test_a_head_that_does_not_come_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes
):
    monkeypatch.setattr(connection, "HEAD_WITHIN", SOON)
    async with gateway_serving(obeying(tmp_path / "log", a_tool("act"))) as served, raw_to(served.port) as client:
        client.send(sent)
        assert await client.statuses() == ([408] if sent.startswith(b"POST") else [])
        await healthy(served)


async def test_nor_is_one_that_comes_after_an_answer(served: Served, monkeypatch: pytest.MonkeyPatch):
    async with raw_to(served.port) as client:
        monkeypatch.setattr(connection, "HEAD_WITHIN", SOON)
        client.send(request(served.port))
        assert (await client.reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        client.send(b"POST /mcp HTT")
        assert await client.statuses() == [408]


async def test_a_body_of_which_not_a_byte_comes_is_not_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "BODY_WITHIN", SOON)
    async with raw_to(served.port) as client:
        whole = request(served.port)
        client.send(whole[: whole.index(b"\r\n\r\n") + 4])
        assert await client.statuses() == [408]


async def test_a_slow_call_is_no_slow_request(served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    for name in ("HEAD_WITHIN", "BODY_WITHIN"):
        monkeypatch.setattr(connection, name, SOON)
    async with raw_to(served.port) as client:
        client.send(request(served.port, sleep=3 * SOON))
        assert (await client.reader.readuntil(b"\r\n")).startswith(b"HTTP/1.1 200")
        assert calls_in(tmp_path / "log")


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"X: " + b"x" * 70_000 + b"\r\n", 431),
        (b"".join(b"X-%d: x\r\n" % n for n in range(200)), 431),
        (b"Transfer-Encoding: chunked\r\n", 400),
        (b"Content-Length: 3\r\n", 400),
        (b"Content-Length: -1\r\n", 400),
        (b"no header at all\r\n", 400),
        (b" folded: x\r\n", 400),
        (b"X: a\x00b\r\n", 400),
        (b"X : a\r\n", 400),
    ],
)
async def test_a_head_that_is_none_is_refused(served: Served, head: bytes, status: int, tmp_path: Path):
    async with raw_to(served.port) as client:
        client.send(request(served.port, head=head))
        assert await client.statuses() == [status]
        assert not (tmp_path / "log").exists() or not calls_in(tmp_path / "log")


async def test_a_head_without_an_end_is_not_kept(served: Served):
    async with raw_to(served.port) as client:
        client.send(b"POST /mcp HTTP/1.1\r\nX: ", *[b"x" * 1000] * 100)
        assert await client.statuses() == [431]


@pytest.mark.parametrize(
    "junk",
    [
        b"\x16\x03\x01\x02\x00\x01", b"\x00" * 100, b"GET\r\n\r\n", b"{}", b"GET /mcp XTTP/2.0\r\n\r\n",
        b"GET /mcp HTTP/11.1\r\n\r\n", b"GET /mcp HTTP/1\r\n\r\n", b"GET mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET http:///mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"CONNECT a:80 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)  # fmt: skip
async def test_what_is_no_http_is_told_so(served: Served, junk: bytes):
    async with raw_to(served.port) as client:
        client.send(junk)
        assert await client.statuses() == [400]
        await healthy(served)


@pytest.mark.parametrize(
    "line",
    [
        b"GET /mcp HTTP/2.0", b"POST /mcp HTTP/2.0", b"GET /mcp HTTP/2.1", b"GET /mcp HTTP/3.0", b"GET /mcp HTTP/9.9",
        b"GET /mcp HTTP/0.9", b"GET /mcp HTTP/0.5", b"GET /mcp", b"PRI * HTTP/2.0\r\n\r\nSM",
    ],
)  # fmt: skip
async def test_a_major_version_other_than_one_is_refused(served: Served, line: bytes):
    async with raw_to(served.port) as client:
        host = b"Host: 127.0.0.1\r\n" if b"PRI" not in line else b""
        client.send(line + b"\r\n" + host + b"\r\n")
        said = await client.all()
        assert said.startswith(b"HTTP/1.1 505 "), said
        assert b"use HTTP/1.1" in said
        await healthy(served)


async def test_the_call_of_another_version_is_not_made(served: Served, tmp_path: Path):
    async with raw_to(served.port) as client:
        client.send(request(served.port).replace(b"HTTP/1.1", b"HTTP/2.0"))
        assert await client.statuses() == [505]
    assert not (tmp_path / "log").exists() or not calls_in(tmp_path / "log")


async def test_version_1_0_is_served_once_per_connection(served: Served):
    older = request(served.port, head=b"Connection: keep-alive\r\nExpect: 100-continue\r\n")
    head, _, body = older.replace(b"HTTP/1.1", b"HTTP/1.0").partition(b"\r\n\r\n")
    async with raw_to(served.port) as client:
        client.send(head + b"\r\n\r\n")
        # The gateway is in the same loop: it has read that head before it answers this.
        await healthy(served)
        client.send(body)
        said = await client.all()
    assert said.startswith(b"HTTP/1.1 200 "), "100 Continue does not belong to that version"
    assert b"connection: close\r\n" in said
    assert b"transfer-encoding" not in said.lower()


@pytest.mark.parametrize("length", [b"", b"Content-Length: 5\r\n"])
async def test_version_1_0_has_no_chunks(served: Served, length: bytes):
    async with raw_to(served.port) as client:
        head = b"POST /mcp HTTP/1.0\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n" + length
        client.send(head + b"\r\n0\r\n\r\n")
        assert await client.statuses() == [400]


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        ("http://127.0.0.1:{port}/mcp", "127.0.0.1:{port}", 200),
        ("HTTP://LOCALHOST:{port}/mcp", "localhost:{port}", 200),
        ("http://localhost/mcp", "localhost:80", 200),
        ("https://localhost:443/mcp", "LOCALHOST", 200),
        ("http://[::1]:{port}/mcp", "[::1]:{port}", 200),
        ("http://evil.test/mcp", "127.0.0.1:{port}", 400),
        ("http://127.0.0.1:{port}/mcp", "evil.test", 400),
        ("http://127.0.0.1:1/mcp", "127.0.0.1:{port}", 400),
        ("http://127.0.0.1/mcp", "127.0.0.1:{port}", 400),
        ("http://localhost:{port}/mcp", "127.0.0.1:{port}", 400),
        ("https://localhost/mcp", "localhost:80", 400),
        ("http://user@localhost/mcp", "localhost", 400),
        ("http://user@localhost/mcp", "user@localhost", 400),
        ("http://localhost/mcp", "localhost/mcp", 400),
        ("http://localhost/mcp", "", 400),
        ("http://localhost/mcp", None, 400),
        ("http://localhost/mcp", "localhost\r\nHost: localhost", 400),
        ("ftp://localhost/mcp", "localhost", 400),
        ("http://evil.test/mcp", "evil.test", 421),
    ],
)
async def test_an_absolute_target_names_the_server_of_the_host_header(
    served: Served, target: str, host: str | None, status: int, tmp_path: Path
):
    given = request(served.port).replace(b"POST /mcp ", f"POST {target.format(port=served.port)} ".encode())
    named = "" if host is None else f"Host: {host.format(port=served.port)}\r\n"
    given = given.replace(f"Host: 127.0.0.1:{served.port}\r\n".encode(), named.encode() + b"Connection: close\r\n")
    async with raw_to(served.port) as client:
        client.send(given)
        assert await client.statuses() == [status]
    called = (tmp_path / "log").exists() and bool(calls_in(tmp_path / "log"))
    assert called is (status == 200)


async def test_what_follows_a_request_before_its_answer_is_not_read(served: Served, tmp_path: Path):
    for junk in (b"\x00\x01junk", request(served.port)):
        async with raw_to(served.port) as client:
            client.send(request(served.port) + junk)
            assert await client.statuses() == [200]
    assert len(calls_in(tmp_path / "log")) == 2


async def test_another_protocol_is_not_changed_to(served: Served):
    async with raw_to(served.port) as client:
        client.send(
            f"GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n".encode()
            + b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n\x81\x00"
        )
        assert await client.statuses() == [405]


@pytest.mark.parametrize("tail", [b"0\r\n" + b"X: y\r\n" * 200, b"0\r\nX: " + b"y" * 200_000])
async def test_headers_after_a_body_are_bounded_too(served: Served, tail: bytes):
    async with raw_to(served.port) as client:
        head = request(served.port).partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked\r\n\r\n"
        client.send(head, tail)
        assert await client.statuses() == [431]


async def test_a_body_that_nobody_wants_is_not_read_for_ever(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "HEAD_WITHIN", 600)
    async with raw_to(served.port) as client:
        client.send(
            f"POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\nContent-Length: 99999999\r\n\r\n".encode(),
            *[b"x" * 65536] * 64,
        )
        assert await client.statuses() == [404]


async def test_nor_is_it_waited_for(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(connection, "HEAD_WITHIN", SOON)
    async with raw_to(served.port) as client:
        client.send(request(served.port).replace(b"Content-Length: ", b"Content-Length: 99999999"))
        assert await client.statuses() == [413]


async def test_a_short_one_is_thrown_away_and_the_connection_goes_on(served: Served):
    async with line_to(served.port) as line:
        assert (await line.send(b"x" * 100_000, ask="POST /nowhere HTTP/1.1")).status == 404
        assert (await ask(line, "tools/call", {"name": "work_act"})).status == 200


async def test_who_does_not_read_is_hung_up_on(served: Served, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(backpressure, "READ_WITHIN", SOON)
    async with raw_to(served.port) as client:
        client.stop_reading()
        client.send(request(served.port, text="x" * 7_000_000))
        async with fail_after(30, "the end of a connection that is not read"):
            await client.ended()


async def test_who_reads_slowly_but_reads_gets_all_of_it(served: Served, monkeypatch: pytest.MonkeyPatch):
    looks: list[int] = []

    look = Outflow.look

    def noted(self: Outflow, before: int) -> None:
        looks.append(before)
        look(self, before)

    monkeypatch.setattr(backpressure, "READ_WITHIN", 0.01)
    monkeypatch.setattr(backpressure, "SLOWEST_READ", 0)
    monkeypatch.setattr(Outflow, "look", noted)
    async with raw_to(served.port) as client:
        client.stop_reading()
        client.send(request(served.port, head=b"Connection: close\r\n", text="x" * 7_000_000))
        await until(lambda: len(looks) > 3)
        client.go_on_reading()
        assert len(await client.all()) > 7_000_000


async def test_new_connections_take_the_place_of_silent_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "Hall", lambda: connection_limit.Hall(most=3))
    async with gateway_serving(obeying(tmp_path / "log", a_tool("act"))) as served, AsyncExitStack() as stack:
        silent = [await stack.enter_async_context(raw_to(served.port)) for _ in range(10)]
        for _ in range(3):
            await healthy(served)
        for client in silent[:7]:
            assert await client.all() == b""


async def test_where_all_are_busy_the_next_one_is_told_to_come_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(server, "Hall", lambda: connection_limit.Hall(most=1))
    async with gateway_serving(obeying(tmp_path / "log", a_tool("act"))) as served, raw_to(served.port) as busy:
        busy.send(request(served.port, silent=True))
        await until(lambda: bool(calls_in(tmp_path / "log")))
        async with raw_to(served.port) as late:
            assert await late.statuses() == [503]


# A head that came before


async def answer_to(client: Raw, data: bytes) -> tuple[int, bytes]:
    """Of a connection that goes on."""
    client.send(data)
    async with fail_after(20, "an answer"):
        head = await client.reader.readuntil(b"\r\n\r\n")
        size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        return int(head[9:12]), await client.reader.readexactly(size)


async def test_a_client_that_always_says_the_same_is_answered_each_time(
    served: Served, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    read: list[bytes] = []
    on_url = Connection.on_url

    def noted(self: Connection, url: bytes) -> None:
        read.append(url)
        on_url(self, url)

    monkeypatch.setattr(Connection, "on_url", noted)
    async with raw_to(served.port) as client:
        for size in range(20):
            status, body = await answer_to(client, request(served.port, text=f"<{'x' * size}>"))
            assert (status, f"<{'x' * size}>".encode() in body) == (200, True)
    assert len(calls_in(tmp_path / "log")) == 20
    assert len(read) == 1


async def test_one_that_says_something_else_for_once_is_heard(served: Served):
    async with raw_to(served.port) as client:
        known = request(served.port)
        for _ in range(3):
            assert (await answer_to(client, known))[0] == 200
        for other, status in (
            (known.replace(b"127.0.0.1", b"127.0.0.x"), 421),
            (known.replace(b"tools/call\r", b"tools/list\r"), 400),
            (known.replace(b"application/json", b"application/jsom"), 415),
            (known.replace(b"Accept: ", b"Origin: http://evil.example\r\nAccept: "), 403),
        ):
            for _ in range(3):
                assert (await answer_to(client, other))[0] == status
                assert (await answer_to(client, known))[0] == 200


@pytest.mark.parametrize("cut", [1, 20, -1])
async def test_and_one_whose_request_comes_in_pieces(served: Served, cut: int):
    async with raw_to(served.port) as client:
        known = request(served.port)
        for _ in range(3):
            assert (await answer_to(client, known))[0] == 200
            client.send(known[:cut])
            await client.writer.drain()
            await asyncio.sleep(SOON)
            assert (await answer_to(client, known[cut:]))[0] == 200


async def test_two_requests_at_once_are_one_too_many_also_when_their_head_is_known(served: Served, tmp_path: Path):
    async with raw_to(served.port) as client:
        known = request(served.port)
        for _ in range(2):
            assert (await answer_to(client, known))[0] == 200
        client.send(known + known)
        assert await client.statuses() == [200]
    assert len(calls_in(tmp_path / "log")) == 3


async def test_nor_is_one_served_that_comes_while_another_is(served: Served, tmp_path: Path):
    async with raw_to(served.port) as client:
        for _ in range(2):
            assert (await answer_to(client, request(served.port)))[0] == 200
        client.send(request(served.port, sleep=0.5))
        await until(lambda: len(calls_in(tmp_path / "log")) == 3)
        client.send(request(served.port))
        assert await client.statuses() == [200]
    assert len(calls_in(tmp_path / "log")) == 3


async def test_nothing_is_remembered_of_a_connection_that_has_ended(served: Served, monkeypatch: pytest.MonkeyPatch):
    forgotten: list[int] = []
    forget = Acquaintance.forget

    def noted(self: Acquaintance) -> None:
        forget(self)
        forgotten.append(self._shelf.left)  # pyright: ignore[reportPrivateUsage]

    monkeypatch.setattr(Acquaintance, "forget", noted)
    async with raw_to(served.port) as client:
        assert (await answer_to(client, request(served.port)))[0] == 200
    await until(lambda: bool(forgotten))
    assert forgotten == [MOST_ALTOGETHER]


class Deadline:
    """A deadline timer, and the count of deadlines that it has seen pass."""

    def __init__(self) -> None:
        self.times = 0
        self.once = asyncio.Event()
        self.lateness = Lateness(self)

    def __call__(self) -> None:
        self.times += 1
        self.once.set()

    async def wait(self) -> None:
        async with fail_after(10, "the deadline"):
            await self.once.wait()


async def test_who_does_not_do_what_is_expected_is_late_once():
    deadline = Deadline()
    deadline.lateness.expect(SOON)
    await deadline.wait()
    await asyncio.sleep(2 * SOON)
    assert deadline.times == 1


async def test_what_is_expected_sooner_than_before_is_not_waited_for_any_longer():
    deadline = Deadline()
    deadline.lateness.expect(NEVER)
    deadline.lateness.expect(SOON)
    await deadline.wait()


@pytest.mark.parametrize("then", ["later", "nothing", "stopped"])
async def test_a_timer_that_was_set_for_something_else_says_nothing(then: str):
    deadline, beside = Deadline(), Deadline()
    deadline.lateness.expect(SOON)
    beside.lateness.expect(3 * SOON)
    if then == "later":
        deadline.lateness.expect(NEVER)
    elif then == "nothing":
        deadline.lateness.ease()
    else:
        deadline.lateness.stop()
    await beside.wait()
    assert deadline.times == 0
    deadline.lateness.stop()


async def test_what_is_expected_later_is_waited_for_as_well():
    deadline = Deadline()
    deadline.lateness.expect(SOON)
    deadline.lateness.expect(3 * SOON)
    await deadline.wait()


async def test_the_rest_of_something_gets_no_more_time_than_was_left_for_all_of_it():
    deadline = Deadline()
    deadline.lateness.expect(SOON)
    deadline.lateness.expect_the_rest(NEVER)
    await deadline.wait()
    deadline.once.clear()
    deadline.lateness.expect(NEVER)
    deadline.lateness.expect_the_rest(SOON)
    await deadline.wait()
