"""What a server can answer to the request for a WebSocket, and what becomes of that."""

import asyncio

import pytest
from websockets.asyncio.server import ServerConnection

from bascule.core.errors import ConnectFailed, LoginNeeded
from support.http_servers import Asked, http_reply, raw_server
from support.ports import free_port
from support.streams import Leave
from support.waiting import fail_after, until
from support.ws_links import LONG, a_dispatcher, ws_link
from support.ws_servers import accepting, switched, ws_server


async def idle(connection: ServerConnection) -> None:
    await connection.wait_closed()


async def nothing(_: asyncio.StreamWriter) -> None:
    """Having accepted, say nothing."""


async def failure(url: str, **options: float) -> ConnectFailed:
    """Why no WebSocket was opened."""
    dispatcher = a_dispatcher(url, {"Authorization": "Bearer s3cret"}, connect_timeout=options.get("limit", LONG))
    async with fail_after(LONG, "opening"):
        with pytest.raises(ConnectFailed) as failed:
            await dispatcher.open()
        await dispatcher.close(1.0)
    assert "s3cret" not in f"{failed.value.message} {failed.value.evidence}"
    assert not failed.value.sent
    return failed.value


async def refused(reply: bytes) -> ConnectFailed:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)

    async with raw_server(answer) as server:
        return await failure(server.url)


async def test_the_request_carries_what_was_configured_and_offers_the_subprotocol():
    seen: list[ServerConnection] = []

    async def talk(connection: ServerConnection) -> None:
        seen.append(connection)
        await connection.wait_closed()

    async with ws_server(talk) as url, ws_link(url, {"Authorization": "Bearer s3cret", "X-Team": "blue"}):
        pass

    assert seen[0].request is not None
    headers = seen[0].request.headers
    assert (headers["Authorization"], headers["X-Team"]) == ("Bearer s3cret", "blue")
    assert headers["Sec-WebSocket-Protocol"] == seen[0].subprotocol == "mcp"
    assert "Sec-WebSocket-Extensions" not in headers
    assert "Cookie" not in headers


@pytest.mark.parametrize("named", [None, ["other", "mcp"]])
async def test_the_subprotocol_is_not_demanded(named: list[str] | None):
    async with ws_server(idle, subprotocols=named) as url, ws_link(url) as link:
        assert not link.lost.done()


async def test_a_subprotocol_nobody_offered_changes_nothing():
    async with (
        raw_server(accepting(nothing, Sec_WebSocket_Protocol="graphql-ws")) as server,
        ws_link(server.url, grace=0.1) as link,
    ):
        assert not link.lost.done()


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_a_server_that_wants_to_know_who_we_are_needs_a_login(status: str):
    error = await refused(http_reply(b"no", status, WWW_Authenticate='Bearer realm="mcp"'))

    assert isinstance(error, LoginNeeded)
    assert error.evidence == f'HTTP {status[:3]}, WWW-Authenticate: Bearer realm="mcp"'
    assert error.where.startswith("ws://127.0.0.1:")


@pytest.mark.parametrize("status", ["404 Not Found", "200 OK", "426 Upgrade Required", "500 Internal Server Error"])
async def test_any_other_answer_is_told_with_its_status_and_its_words(status: str):
    error = await refused(http_reply(b"no sockets here", status, "text/plain"))

    assert type(error) is ConnectFailed
    assert f"the server answered HTTP {status[:3]}" in error.message
    assert "no sockets here" in error.evidence
    assert error.fix


async def test_an_endless_answer_is_not_read_to_its_end():
    async def pour(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\n\r\n")
        while True:
            writer.write(b"x" * 65536)
            await writer.drain()

    async with raw_server(pour) as server:
        assert "HTTP 500" in (await failure(server.url)).message


@pytest.mark.parametrize("status", ["301", "302", "303", "307", "308"])
@pytest.mark.parametrize("same", [True, False], ids=["same server", "other server"])
async def test_a_redirect_is_not_followed(status: str, same: bool):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        target = server.url if same else other.url
        writer.write(http_reply(status=f"{status} Moved", Location=f"{target}/on?key=s3cret"))

    async with raw_server(accepting(nothing)) as other, raw_server(answer) as server:
        error = await failure(server.url)

    assert "redirects" in error.message
    assert f"HTTP {status}, Location: http://127.0.0.1:" in error.evidence
    assert len(server.asked) == 1
    assert other.connections == 0


async def test_a_server_that_insists_on_compression_is_refused():
    async with raw_server(accepting(nothing, Sec_WebSocket_Extensions="permessage-deflate")) as server:
        error = await failure(server.url)

    assert "permessage-deflate" in error.evidence
    assert "compression" in error.fix


@pytest.mark.parametrize(
    "spoil",
    [
        lambda reply: reply.replace(b"Sec-WebSocket-Accept: ", b"Sec-WebSocket-Accept: x"),
        lambda reply: reply.replace(b"Upgrade: websocket", b"Upgrade: h2c"),
        lambda reply: reply.replace(b"Connection: Upgrade", b"Connection: close"),
    ],
    ids=["wrong key", "another protocol", "no upgrade"],
)  # fmt: skip
async def test_a_switch_to_something_else_is_refused(spoil: "type[bytes]"):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(spoil(switched(asked)))

    async with raw_server(answer) as server:
        assert "does not speak WebSocket" in (await failure(server.url)).message


@pytest.mark.parametrize("words", [b"220 smtp.test ESMTP\r\n", b"", b"\0" * 1000, b"HTTP/1.1 101 Sw"])
async def test_whatever_bytes_come_back_the_failure_is_one_of_ours(words: bytes):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(words)
        await writer.drain()
        writer.close()

    async with raw_server(answer) as server:
        assert (await failure(server.url)).evidence


async def test_silence_ends_when_the_time_for_connecting_does():
    async def silent(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.get_running_loop().create_future()

    async with raw_server(silent) as server:
        error = await failure(server.url, limit=0.2)

    assert "opened no WebSocket within 0.2 s" in error.message
    assert "timeouts.connect" in error.fix


async def test_where_nobody_listens_there_is_no_connection():
    port = free_port()
    error = await failure(f"ws://127.0.0.1:{port}/mcp")

    assert error.message == f"no connection to ws://127.0.0.1:{port}/mcp"
    assert "nothing listens there" in error.cause


async def test_a_name_without_an_address_is_told():
    assert (await failure("ws://no-such-host.invalid/")).cause == "the host name has no address"


async def test_a_server_without_tls_is_no_secure_one():
    async def chat(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(chat, "127.0.0.1", 0) as server:
        error = await failure(f"wss://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp")

    assert error.cause == "the server does not speak TLS at this port"


@pytest.mark.parametrize(
    ("url", "headers"),
    [
        ("https://h.test/mcp", {}),
        ("ws://me:s3cret@h.test/", {}),
        ("ws://h.test/", {"Sec-WebSocket-Extensions": "permessage-deflate"}),
        ("ws://h.test/", {"Upgrade": "h2c"}),
        ("ws://h.test/", {"X": "a\r\nY: b"}),
    ],
)
async def test_what_could_not_be_sent_is_refused_before_anything_is(url: str, headers: dict[str, str]):
    dispatcher = a_dispatcher(url, headers)
    with pytest.raises(ConnectFailed) as failed:
        await dispatcher.open()
    await dispatcher.close(1.0)

    assert "s3cret" not in f"{failed.value.message} {failed.value.evidence}"


async def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "ws_proxy", "all_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    async with ws_server(idle) as url, ws_link(url) as link:
        assert not link.lost.done()


async def test_without_leave_nobody_is_asked_for_a_websocket():
    async with raw_server(accepting(nothing)) as server, fail_after(LONG):
        dispatcher = a_dispatcher(server.url)
        dispatcher.leave = Leave(given=False)
        with pytest.raises(ConnectFailed, match="nothing may be written"):
            await dispatcher.open()
        await dispatcher.close(1.0)
        assert server.connections == 0


async def test_without_leave_a_ping_is_not_answered_and_the_next_one_with_it_is():
    leave = Leave()
    pinged = asyncio.Event()

    async def talk(connection: ServerConnection) -> None:
        first = asyncio.ensure_future(await connection.ping(b"first"))
        await connection.send('{"method":"pinged"}')
        await pinged.wait()
        assert not first.done()
        await (await connection.ping(b"second"))
        await connection.send('{"method":"answered"}')
        await connection.wait_closed()

    heard: asyncio.Queue[str] = asyncio.Queue()
    async with ws_server(talk) as url, fail_after(LONG):
        dispatcher = a_dispatcher(url)
        dispatcher.leave, dispatcher.on_notice = leave, lambda method, _: heard.put_nowait(method)
        try:
            await dispatcher.open()
            leave.given = False
            assert await heard.get() == "pinged"
            await until(lambda: leave.refusals > 0)
            leave.given = True
            pinged.set()
            assert await heard.get() == "answered"
        finally:
            await dispatcher.close(2.0)
