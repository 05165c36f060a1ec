import asyncio
import gzip
from collections.abc import Mapping
from typing import Any, cast

import pytest

from bascule.core.errors import ConnectFailed, LoginNeeded, ProtocolViolation
from bascule.core.request import Permit
from bascule.identity.oauth.challenge import Challenge
from bascule.transports.http.body import PIECE
from bascule.transports.http.endpoint import Endpoint
from support.http_links import LONG, ask, http_link, new_link, old_link
from support.http_servers import Answer, Asked, http_reply, raw_server, raw_unix_server, result_body
from support.waiting import fail_after


async def echo(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """Speaks the old era with a session, and sets a cookie each time."""
    if asked.method != "POST":
        writer.write(http_reply(status="405 Method Not Allowed"))
        return
    result = {"protocolVersion": "2025-06-18"}
    writer.write(
        http_reply(result_body(asked.message.get("id"), result), Mcp_Session_Id="s-1", Set_Cookie="a=b; Path=/")
    )


def redirecting(*hops: tuple[str, str], location: str | None = None) -> Answer:
    """Redirect by (path, status and target), then answer."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        for path, target in hops:
            if asked.path == path:
                status, _, where = target.partition(" ")
                writer.write(http_reply(status=f"{status} Moved", Location=location or where))
                return
        await echo(asked, writer)

    return answer


async def test_a_post_carries_what_the_protocol_asks_for():
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url) as link:
        await link.send(ask())

        headers = server.asked[0].headers
        assert headers["accept"] == "application/json, text/event-stream"
        assert headers["accept-encoding"] == "identity"
        assert headers["content-type"] == "application/json"
        assert "mcp-session-id" not in headers
        assert "mcp-protocol-version" not in headers
        assert "cookie" not in headers


async def test_a_requests_headers_win_over_configured_ones_but_not_over_who_we_are():
    configured = {"Authorization": "Bearer ours", "X-Key": "configured"}
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url, configured) as link:
        await link.send(ask(headers={"authorization": "Bearer other", "x-key": "request", "Mcp-Method": "m"}))

        headers = server.asked[0].headers
        assert (headers["authorization"], headers["x-key"], headers["mcp-method"]) == ("Bearer ours", "request", "m")


async def test_a_request_may_say_who_we_are_if_the_config_does_not():
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url) as link:
        await link.send(ask(headers={"Authorization": "Bearer theirs"}))

        assert server.asked[0].headers["authorization"] == "Bearer theirs"


async def test_the_old_era_carries_its_session_and_version_after_the_handshake():
    async with fail_after(LONG), raw_server(echo) as server, old_link(server.url) as link:
        await link.send(ask("tools/list"))

        first = server.asked[0].headers
        last = next(a for a in server.asked if a.body and a.message["method"] == "tools/list").headers
        assert "mcp-session-id" not in first
        assert "mcp-protocol-version" not in first
        assert (last["mcp-session-id"], last["mcp-protocol-version"]) == ("s-1", "2025-06-18")


async def test_only_initialize_can_open_a_session():
    async with fail_after(LONG), raw_server(echo) as server, new_link(server.url) as link:
        await link.send(ask("server/discover"))
        await link.send(ask("tools/list"))

        assert "mcp-session-id" not in server.asked[1].headers


@pytest.mark.parametrize("odd", ["a b", "\xe4", "x" * 5000], ids=["space", "not ascii", "long"])
async def test_a_session_id_that_is_not_visible_ascii_is_refused(odd: str):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(result_body(asked.id, {}), Mcp_Session_Id=odd))

    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url) as link:
        with pytest.raises(ProtocolViolation, match="session id"):
            await link.send(ask("initialize"))


async def test_no_cookie_is_kept():
    # By name: for a bare address even a careless client keeps none.
    async with (
        fail_after(LONG),
        raw_server(echo) as server,
        http_link(server.url.replace("127.0.0.1", "localhost")) as link,
    ):
        await link.send(ask())
        await link.send(ask())

        assert "cookie" not in server.asked[1].headers


async def test_a_proxy_in_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url) as link:
        await link.send(ask())

        assert server.asked[0].path == "/mcp"


async def test_a_connection_is_used_again():
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url) as link:
        for _ in range(5):
            await link.send(ask())

        assert server.connections == 1


async def test_a_redirect_on_the_same_server_is_followed_with_the_same_body():
    async with (
        fail_after(LONG),
        raw_server(redirecting(("/mcp", "307 /a"), ("/a", "308 /b"))) as server,
        http_link(server.url) as link,
    ):
        await link.send(ask())

        assert [asked.path for asked in server.asked] == ["/mcp", "/a", "/b"]
        assert len({asked.body for asked in server.asked}) == 1


async def test_a_permanent_redirect_is_remembered_and_a_temporary_one_is_not():
    async with (
        fail_after(LONG),
        raw_server(redirecting(("/mcp", "308 /a"), ("/a", "307 /b"))) as server,
        http_link(server.url) as link,
    ):
        await link.send(ask())
        await link.send(ask())

        assert [asked.path for asked in server.asked] == ["/mcp", "/a", "/b", "/a", "/b"]


async def test_a_fourth_redirect_is_one_too_many():
    loop = redirecting(("/mcp", "307 /mcp"))
    async with fail_after(LONG), raw_server(loop) as server, http_link(server.url) as link:
        with pytest.raises(ConnectFailed, match="more than 3 times"):
            await link.send(ask())

        assert len(server.asked) == 4


@pytest.mark.parametrize("status", ["301", "302", "303"])
async def test_a_redirect_that_would_lose_the_body_is_refused_with_the_url_to_use(status: str):
    moved = redirecting(("/mcp", f"{status} /elsewhere"))
    async with fail_after(LONG), raw_server(moved) as server, http_link(server.url) as link:
        with pytest.raises(ConnectFailed) as failed:
            await link.send(ask())

        assert failed.value.fix == f"use URL http://127.0.0.1:{server.port}/elsewhere"
        assert len(server.asked) == 1


@pytest.mark.parametrize("status", ["302", "307", "308"])
async def test_a_redirect_to_another_server_gets_nothing(status: str):
    async with fail_after(LONG), raw_server(echo) as other:
        away = redirecting(("/mcp", status), location=other.url)
        async with raw_server(away) as server, http_link(server.url, {"Authorization": "Bearer x"}) as link:
            with pytest.raises(ConnectFailed, match="another server") as failed:
                await link.send(ask())

            assert f":{server.port}" in failed.value.message
            assert f":{other.port}" in failed.value.message
            assert other.connections == 0


async def test_the_stream_of_the_old_era_follows_no_redirect():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "GET":
            writer.write(http_reply(status="307 Moved", Location=other.url))
        else:
            await echo(asked, writer)

    async with fail_after(LONG), raw_server(echo) as other, raw_server(answer) as server:
        async with old_link(server.url) as link:
            await server.next("GET")
            await asyncio.gather(*link._tasks)

        assert other.connections == 0


async def test_nothing_is_unpacked():
    packed = gzip.compress(b"x" * 1000)

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(packed, Content_Encoding="gzip"))

    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url) as link:
        response = await link._endpoint.get(None)

        assert await response.read() == packed


async def test_opening_sends_nothing():
    async with fail_after(LONG), raw_server(echo) as server:
        async with http_link(server.url):
            pass

        assert server.connections == 0


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/", "http://me:pw@127.0.0.1/", "nonsense"])
async def test_opening_refuses_a_url_that_cannot_be_used(url: str):
    with pytest.raises(ConnectFailed):
        async with http_link(url):
            pass


async def test_opening_refuses_headers_that_cannot_be_sent():
    with pytest.raises(ConnectFailed):
        async with http_link("http://127.0.0.1/", {"X": "a\r\nb"}):
            pass


# Through a socket file


LOCAL = "http://localhost/mcp"


async def test_through_a_socket_file_we_ask_for_a_host_that_guarded_servers_let_in():
    async with (
        fail_after(LONG),
        raw_unix_server(echo) as server,
        http_link(LOCAL, socket=server.socket) as link,
        http_link(LOCAL, {"Host": "twin.test"}, socket=server.socket) as named,
    ):
        await link.send(ask())
        await named.send(ask())

        assert [asked.headers["host"] for asked in server.asked] == ["localhost:80", "twin.test"]


@pytest.mark.parametrize("target", ["/a", "http://localhost/a", "http://localhost:80/a"])
async def test_a_redirect_on_a_socket_file_stays_there(target: str):
    async with (
        fail_after(LONG),
        raw_unix_server(redirecting(("/mcp", f"307 {target}"))) as server,
        http_link(LOCAL, socket=server.socket) as link,
    ):
        await link.send(ask())

        assert [asked.path for asked in server.asked] == ["/mcp", "/a"]


async def test_a_redirect_from_a_socket_file_to_a_server_is_refused():
    async with fail_after(LONG), raw_server(echo) as elsewhere:
        async with (
            raw_unix_server(redirecting(("/mcp", f"307 {elsewhere.url}"))) as server,
            http_link(LOCAL, socket=server.socket) as link,
        ):
            with pytest.raises(ConnectFailed, match="another server"):
                await link.send(ask())

        assert elsewhere.connections == 0
        assert len(server.asked) == 1


class Recording:
    """Credentials that record each challenge and get no other header."""

    others: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.challenges: list[Challenge] = []

    def header(self) -> str | None:
        return ""

    async def prepare(self, leave: Permit | None = None, /) -> str:
        return ""

    async def renew(self, used: str, challenge: Challenge, *, again: bool, leave: Permit | None = None) -> None:
        self.challenges.append(challenge)
        raise self.needed(used, challenge)

    def needed(self, used: str, challenge: Challenge) -> LoginNeeded:
        return LoginNeeded("log in")


async def demand(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(http_reply(status="401 Unauthorized", WWW_Authenticate='Bearer scope="a"'))


@pytest.mark.parametrize("length", [10, 2 * PIECE], ids=["one piece", "several pieces"])
async def test_a_challenge_carries_the_peer_address_of_its_own_connection(length: int):
    login = Recording()
    async with fail_after(LONG), raw_server(demand) as server:
        # A name, so that the address can come from nowhere but the connection.
        url = server.url.replace("127.0.0.1", "localhost")
        async with http_link(url, login=cast("Any", login)) as link:
            with pytest.raises(LoginNeeded):
                await link.send(ask(params={"text": "x" * length}))
    assert login.challenges == [Challenge(scope="a", peer="127.0.0.1")]


async def test_a_challenge_to_a_stream_carries_it_too():
    login = Recording()
    async with fail_after(LONG), raw_server(demand) as server:
        endpoint = Endpoint(server.url, {}, login=cast("Any", login))
        endpoint.open(LONG)
        response = await endpoint.get(None)
        assert response.status == 401
        await endpoint.close()
    assert login.challenges == [Challenge(scope="a", peer="127.0.0.1")]


async def test_a_challenge_through_a_socket_file_has_no_peer_address():
    login = Recording()
    async with (
        fail_after(LONG),
        raw_unix_server(demand) as server,
        http_link("http://notes/mcp", socket=server.socket, login=cast("Any", login)) as link,
    ):
        with pytest.raises(LoginNeeded):
            await link.send(ask())
    assert login.challenges == [Challenge(scope="a")]
