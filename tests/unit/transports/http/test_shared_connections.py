"""Links that have connections in common, and what is told apart nevertheless."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, cast

import pytest

from bascule.core.errors import ConnectFailed, ConnectionLost, LaneClosed, PermitLost
from bascule.transports.http.connections import Host
from bascule.transports.http.endpoint import Endpoint
from bascule.transports.http.post_state import Exchange
from bascule.transports.http.response import DirectResponse
from bascule.transports.http.shared_connections import Hosts, Kin
from bascule.transports.http.sockets import Guarded
from support.http_links import LONG, Leave, ask, http_link
from support.http_servers import Asked, RawServer, http_reply, raw_server, raw_unix_server, result_body
from support.waiting import fail_after

RESULT = {"protocolVersion": "2025-06-18"}


async def echo(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(http_reply(result_body(asked.message.get("id"), RESULT)))


async def test_the_last_that_leaves_has_it_to_close():
    hosts = Hosts()
    first, second = hosts.join("a", Host), hosts.join("a", Host)
    other = hosts.join("b", Host)
    assert first is second is not other
    assert len(hosts) == 2
    assert hosts.leave("a") is None
    assert hosts.leave("a") is first
    assert hosts.leave("b") is other
    assert len(hosts) == 0
    assert hosts.join("a", Host) is not first


async def test_who_has_not_joined_cannot_leave():
    with pytest.raises(KeyError):
        Hosts().leave("a")


class Known:
    """A login that has happened."""

    others: Mapping[str, str] = {}

    def __init__(self, token: str = "", **others: str) -> None:
        self.token = token
        self.others = others

    def header(self) -> str:
        return self.token


class Held:
    """Answers what is asked at `/held` only when it is told to."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answering = asyncio.Event()

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/held":
            self.asked.set()
            await self.answering.wait()
        await echo(asked, writer)


def at(server: RawServer, path: str) -> str:
    return server.url.replace("/mcp", path)


async def test_links_of_one_circle_have_their_connections_in_common():
    kin = Kin(hosts := Hosts(), "alice")
    async with fail_after(LONG), raw_server(echo) as server:
        async with http_link(server.url, kin=kin) as link:
            async with http_link(at(server, "/other"), kin=kin) as other:
                for one in (link, other, link, other):
                    await one.send(ask())
            await link.send(ask())
            assert [asked.path for asked in server.asked] == ["/mcp", "/other", "/mcp", "/other", "/mcp"]
            assert (server.connections, len(hosts)) == (1, 1)
        assert len(hosts) == 0


@pytest.mark.parametrize(
    "apart",
    [
        {"kin": Kin(Hosts(), "alice")},
        {"kin": None},
        {"of": "bob"},
        {"headers": {"Authorization": "Bearer other"}},
        {"login": Known("Bearer hers")},
        {"login": Known(X_Key="hers")},
    ],
    ids=["other runtime", "no kin", "other principal", "other headers", "a token", "a key"],
)
async def test_links_that_say_something_else_of_themselves_have_nothing_in_common(apart: dict[str, Any]):
    kin = Kin(Hosts(), "alice")
    terms: dict[str, Any] = {"kin": kin, **apart}
    if "of" in terms:
        terms["kin"] = Kin(kin.hosts, terms.pop("of"))
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url, kin=kin) as link:
        await link.send(ask())
        async with http_link(server.url, **terms) as other:
            await other.send(ask())
            assert server.connections == 2


async def test_from_a_login_on_connections_are_a_links_own():
    kin, login = Kin(Hosts(), "alice"), Known()
    async with (
        fail_after(LONG),
        raw_server(echo) as server,
        http_link(server.url, kin=kin) as link,
        http_link(server.url, kin=kin, login=cast("Any", login)) as other,
    ):
        await link.send(ask())
        await other.send(ask())
        assert server.connections == 1
        login.token = "Bearer hers"
        await other.send(ask())
        assert server.connections == 2
        await link.send(ask())
        assert server.connections == 2
        assert [asked.headers.get("authorization") for asked in server.asked] == [None, None, "Bearer hers", None]


async def test_who_says_something_with_some_requests_says_it_on_other_connections():
    kin, login, seen = Kin(Hosts(), "alice"), Known(), list[object]()

    async def noted(asked: Asked, writer: asyncio.StreamWriter) -> None:
        seen.append(writer.get_extra_info("peername"))
        await echo(asked, writer)

    async with (
        fail_after(LONG),
        raw_server(noted) as server,
        http_link(server.url, kin=kin, login=cast("Any", login)) as link,
    ):
        for token in ("", "Bearer hers", "", "Bearer hers"):
            login.token = token
            await link.send(ask())
    assert seen[:2] == seen[2:]
    assert seen[0] != seen[1]


async def test_hosts_are_told_apart_by_all_that_leads_there():
    kin = Kin(hosts := Hosts(), "alice")
    async with (
        fail_after(LONG),
        raw_server(echo) as server,
        raw_unix_server(echo) as file,
        raw_unix_server(echo) as other,
        AsyncExitStack() as stack,
    ):
        ways = [
            (server.url, None),
            (server.url.replace("127.0.0.1", "localhost"), None),
            (file.url, file.socket),
            (file.url, other.socket),
        ]
        for url, socket in ways:
            link = await stack.enter_async_context(http_link(url, socket=socket, kin=kin))
            await link.send(ask())
        assert len(hosts) == len(ways)
        assert [one.connections for one in (server, file, other)] == [2, 1, 1]


async def test_what_is_to_be_encrypted_is_not_said_on_a_connection_that_is_not():
    kin = Kin(Hosts(), "alice")
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url, kin=kin) as link:
        await link.send(ask())
        async with http_link(server.url.replace("http:", "https:"), kin=kin, connect_timeout=0.2) as other:
            with pytest.raises(ConnectFailed):
                await other.send(ask())
        assert len(server.asked) == 1


async def test_each_loop_has_connections_of_its_own():
    kin = Kin(Hosts(), "alice")

    async def elsewhere(url: str) -> None:
        async with http_link(url, kin=kin) as other:
            await other.send(ask())

    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url, kin=kin) as link:
        await link.send(ask())
        await asyncio.to_thread(asyncio.run, elsewhere(server.url))
        await link.send(ask())
        assert server.connections == 2


@pytest.mark.parametrize("end", ["close", "sever"])
@pytest.mark.parametrize("token", ["", "Bearer hers"])
async def test_nothing_stays_open_of_a_link_that_ends(token: str, end: str):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/mcp":
            await echo(asked, writer)
        else:
            writer.write(http_reply(b"{}")[:-1])

    kin = Kin(Hosts(), "alice")
    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url, kin=kin) as link:
        await link.send(ask())
        endpoint = Endpoint(at(server, "/half"), {}, login=cast("Any", Known(token)), kin=kin)
        endpoint.open(LONG)
        sent = Exchange(ask(), 1, LONG, lambda _: None)
        sent.begin()
        received = await endpoint.post(b"{}", sent, {})
        assert isinstance(received, DirectResponse)
        assert isinstance(sent.transport, Guarded)
        if end == "sever":
            endpoint.sockets.sever()
            assert sent.transport.is_closing()
        await endpoint.close()
        assert sent.transport.is_closing()
        received.close()


async def test_what_ends_one_link_does_not_end_what_others_wait_for():
    kin = Kin(Hosts(), "alice")
    for end in (
        lambda link: link.sever(ConnectionLost("severed")),
        lambda link: link.revoke(ConnectionLost("revoked")),
        lambda link: link.close(LONG),
    ):
        answer = Held()
        async with fail_after(LONG), raw_server(answer) as server, http_link(server.url, kin=kin) as link:
            await link.send(ask())
            async with http_link(at(server, "/held"), kin=kin) as other:
                waiting = asyncio.create_task(other.send(ask()))
                await answer.asked.wait()
                ended = end(link)
                if asyncio.iscoroutine(ended):
                    await ended
                answer.answering.set()
                await waiting
                assert server.connections == 1


async def test_a_connection_that_another_link_made_is_written_to_under_ones_own_leave():
    kin = Kin(Hosts(), "alice")
    async with (
        fail_after(LONG),
        raw_server(echo) as server,
        http_link(server.url, kin=kin) as link,
        http_link(at(server, "/other"), kin=kin, leave=Leave(False)) as other,
    ):
        await link.send(ask())
        with pytest.raises(PermitLost):
            await other.send(ask())
        await link.send(ask())
        assert [asked.path for asked in server.asked] == ["/mcp", "/mcp"]


async def test_a_severed_link_takes_its_own_requests_with_it():
    kin, answer = Kin(Hosts(), "alice"), Held()
    async with fail_after(LONG), raw_server(answer) as server, http_link(server.url, kin=kin) as link:
        await link.send(ask())
        async with http_link(at(server, "/held"), kin=kin) as other:
            waiting = asyncio.create_task(other.send(ask()))
            await answer.asked.wait()
            other.sever(ConnectionLost("severed"))
            with pytest.raises(LaneClosed):
                await waiting
        # What was answered too late is not the answer to anything else.
        answer.answering.set()
        assert await link.send(ask()) == RESULT
        assert server.connections == 2
