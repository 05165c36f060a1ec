"""The requests of a login: each looked at before it is sent, each answer read to its cap."""

import asyncio
import socket
from typing import Any

import pytest

from bascule.core.errors import ConnectFailed, LoginFailed, PermitLost
from bascule.identity.oauth.challenge import Challenge
from bascule.identity.oauth.ssrf_guard import Reach
from bascule.transports.auth.oauth_requests import LONGEST_BODY, Fetch
from support.http_links import LONG
from support.http_servers import Asked, RawServer, http_reply, raw_server, stream_head
from support.streams import Leave
from support.waiting import fail_after


def base(server: RawServer) -> str:
    return server.url.removesuffix("/mcp")


async def hello(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(http_reply(b'{"a": 1}', Set_Cookie="a=b; Path=/"))


async def test_an_answer_is_read_whole():
    async with fail_after(LONG), raw_server(hello) as server, Fetch(server.url) as fetch:
        fetched = await fetch.send("POST", f"{base(server)}/token?x=%2F", {"X-A": "b"}, b"body")

        assert (fetched.status, fetched.body) == (200, b'{"a": 1}')
        asked = server.asked[0]
        assert (asked.path, asked.headers["x-a"], asked.body) == ("/token?x=%2F", "b", b"body")
        assert asked.headers["accept-encoding"] == "identity"
        assert "a" not in repr(fetched).removeprefix("Fetched")


async def test_no_cookie_is_kept():
    async with fail_after(LONG), raw_server(hello) as server, Fetch(server.url) as fetch:
        url = base(server).replace("127.0.0.1", "localhost")
        await fetch.send("GET", url, {})
        await fetch.send("GET", url, {})

        assert "cookie" not in server.asked[1].headers


@pytest.mark.parametrize("told", [True, False], ids=["told by its length", "found by reading"])
async def test_an_answer_over_the_cap_is_refused(told: bool):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if told:
            writer.write(http_reply(b"x" * (LONGEST_BODY + 1)))
            return
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        piece = b"x" * 65536
        for _ in range(LONGEST_BODY // len(piece) + 2):
            writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            await writer.drain()

    async with fail_after(LONG), raw_server(answer) as server, Fetch(server.url) as fetch:
        with pytest.raises(LoginFailed, match="longer than"):
            await fetch.send("GET", base(server), {})


async def test_a_compressed_answer_is_refused():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(b"x", Content_Encoding="gzip"))

    async with fail_after(LONG), raw_server(answer) as server, Fetch(server.url) as fetch:
        with pytest.raises(LoginFailed, match="compressed"):
            await fetch.send("GET", base(server), {})


async def test_an_answer_that_drips_ends_at_the_deadline():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        while True:
            writer.write(b"x")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with fail_after(LONG), raw_server(answer) as server, Fetch(server.url, timeout=0.2) as fetch:
        with pytest.raises(ConnectFailed, match="no answer") as caught:
            await fetch.send("GET", base(server), {})

    assert caught.value.evidence == "it took too long"


async def test_nobody_there_is_told():
    async with raw_server(hello) as server:
        url = server.url
    async with fail_after(LONG), Fetch(url) as fetch:
        with pytest.raises(ConnectFailed, match="where logins are handled"):
            await fetch.send("GET", url, {})


async def test_a_redirect_within_the_server_is_followed_and_one_elsewhere_handed_back():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        target = {"/near": "/there", "/far": "https://evil.example/", "/odd": "http://[", "/round": "/round"}
        where = target.get(asked.path)
        writer.write(http_reply(b"there") if where is None else http_reply(status="302 Found", Location=where))

    async with fail_after(LONG), raw_server(answer) as server, Fetch(server.url) as fetch:
        assert (await fetch.send("GET", f"{base(server)}/near", {})).body == b"there"
        for path in ("far", "odd", "round"):
            assert (await fetch.send("GET", f"{base(server)}/{path}", {})).status == 302
        # A form would be sent again, with all that is secret in it.
        assert (await fetch.send("POST", f"{base(server)}/near", {}, b"secret")).status == 302


@pytest.mark.parametrize("url", ["http://169.254.169.254/latest", "https://10.0.0.1/", "http://login.example/"])
async def test_an_address_we_may_not_knock_at_is_not_even_tried(url: str):
    async with fail_after(LONG), raw_server(hello) as server, Fetch(server.url) as fetch:
        fetch.reach = Reach.PUBLIC
        for bad in (url, f"{base(server)}/"):
            with pytest.raises(LoginFailed, match="is not followed"):
                await fetch.send("GET", bad, {})

        assert server.asked == []


class Resolver:
    """Stand-in for DNS: each look-up of a name gives its next address, and in the end the last one."""

    def __init__(self, *addresses: str) -> None:
        self.addresses = [*addresses]
        self.names: list[str] = []

    def __call__(self, host: str, port: int | None, *_: Any, **kwargs: Any) -> list[Any]:
        self.names.append(host)
        address = self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]


async def test_no_name_leads_to_the_loopback_however_near_the_server_is(monkeypatch: pytest.MonkeyPatch):
    async with fail_after(LONG), raw_server(hello) as server, Fetch(server.url) as fetch:
        assert fetch.reach is Reach.LOOPBACK
        monkeypatch.setattr(socket, "getaddrinfo", Resolver("127.0.0.1"))
        with pytest.raises(LoginFailed, match=r"its name resolves to 127\.0\.0\.1, an address inside our own network"):
            await fetch.send("GET", f"https://login.example:{server.port}/", {})

        assert server.connections == 0


async def test_a_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch):
    resolver = Resolver("10.0.0.1", "127.0.0.1")
    connected: list[tuple[str, int]] = []

    async def connect(_: socket.socket, address: tuple[str, int]) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(asyncio.get_running_loop(), "sock_connect", connect)
    async with fail_after(LONG), Fetch("https://mcp.example/mcp", "10.0.0.2") as fetch:
        with pytest.raises(ConnectFailed):
            await fetch.send("GET", "https://login.example:9/", {})
        assert resolver.names == ["login.example"], "one look-up, for one connection"
        with pytest.raises(LoginFailed, match=r"its name resolves to 127\.0\.0\.1"):
            await fetch.send("GET", "https://login.example:9/", {})
    assert connected == [("10.0.0.1", 9)]


async def test_without_the_address_of_the_challenge_a_name_counts_as_public(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(socket, "getaddrinfo", Resolver("10.0.0.1"))
    async with fail_after(LONG), Fetch("https://mcp.example/mcp") as fetch:
        assert fetch.reach is Reach.PUBLIC
        with pytest.raises(LoginFailed, match="its name resolves to"):
            await fetch.send("GET", "https://mcp.example/", {})


@pytest.mark.parametrize("url", ["http://mcp.example/", "http://10.0.0.1/mcp"])
async def test_nobody_logs_in_where_tokens_would_travel_in_clear(url: str):
    with pytest.raises(LoginFailed, match="not https") as caught:
        async with Fetch(url):
            pass

    assert "https" in caught.value.fix


async def test_a_server_without_an_address_cannot_be_logged_in_to():
    with pytest.raises(ConnectFailed):
        async with fail_after(LONG), Fetch("https://no-such-host.invalid/mcp") as fetch:
            await fetch.challenge("https://no-such-host.invalid/mcp", {}, b"{}")


async def test_a_challenge_is_read_from_the_head_alone():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/open":
            writer.write(stream_head(WWW_Authenticate='Bearer scope="never"'))  # and never ends
            await asyncio.sleep(60)
        writer.write(http_reply(b"", "401 Unauthorized", WWW_Authenticate='Bearer scope="a"'))

    async with fail_after(LONG), raw_server(answer) as server, Fetch(server.url) as fetch:
        assert await fetch.challenge(server.url, {}, b"{}") == Challenge(scope="a", peer="127.0.0.1")
        assert await fetch.challenge(f"{base(server)}/open", {}, b"{}") == Challenge(peer="127.0.0.1")


async def test_a_challenge_of_nobody_is_told():
    async with raw_server(hello) as server:
        url = server.url
    async with fail_after(LONG), Fetch(url) as fetch:
        with pytest.raises(ConnectFailed):
            await fetch.challenge(url, {}, b"{}")


async def test_without_leave_nobody_is_asked():
    leave = Leave(given=False)
    async with fail_after(LONG), raw_server(hello) as server:
        with pytest.raises(PermitLost):
            await Fetch(server.url, leave=leave).__aenter__()
        leave.given = True
        async with Fetch(server.url, leave=leave) as fetch:
            leave.given = False
            with pytest.raises(PermitLost):
                await fetch.send("POST", base(server), {}, b"body")
            assert server.connections == 0
            leave.given = True
            assert (await fetch.send("POST", base(server), {}, b"body")).status == 200
            leave.given = False
            with pytest.raises(PermitLost):
                await fetch.send("POST", base(server), {}, b"body")
        assert len(server.asked) == 1
