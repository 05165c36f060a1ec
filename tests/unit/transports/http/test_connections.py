"""Connections that are lent to one request after the other, of one link or of several."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import ClientRequest, ClientTimeout
from aiohttp.connector import Connection
from yarl import URL

from bascule.core.errors import ConnectionLost, PermitLost
from bascule.transports.http import connections as http_host
from bascule.transports.http.connections import Frugal, Host
from bascule.transports.http.sockets import NOBODY, Guarded, Sockets
from support.http_links import LONG, Leave
from support.http_servers import Asked, RawServer, raw_server, raw_unix_server
from support.waiting import fail_after, until

TIMEOUT = ClientTimeout(sock_connect=LONG)


async def silent(_: Asked, writer: asyncio.StreamWriter) -> None:
    """Says nothing."""


class Lending:
    """A host, and what asks it for connections."""

    def __init__(self, host: Host, server: RawServer, session: aiohttp.ClientSession) -> None:
        self.host = host
        self.server = server
        loop = asyncio.get_running_loop()
        self._request = ClientRequest("POST", URL(server.url), loop=loop, session=session)
        self._made: list[Connection] = []

    async def make(self, holder: Sockets) -> Connection:
        self._made.append(await self.host.connect(self._request, TIMEOUT, holder))
        return self._made[-1]

    async def close(self) -> None:
        for connection in self._made:
            connection.close()
        await self.host.close()


@asynccontextmanager
async def lending() -> AsyncGenerator[Lending]:
    async with fail_after(LONG), raw_server(silent) as server, aiohttp.ClientSession() as session:
        at = Lending(Host(), server, session)
        try:
            yield at
        finally:
            await at.close()


def socket_of(connection: Connection) -> Guarded:
    assert isinstance(connection.transport, Guarded)
    return connection.transport


async def test_connections_are_those_that_know_replies():
    async with lending() as at:
        connection = await at.make(Sockets())
        assert isinstance(connection.protocol, Frugal)


async def test_a_socket_file_is_a_host_too():
    async with fail_after(LONG), raw_unix_server(silent) as server, aiohttp.ClientSession() as session:
        at = Lending(Host(server.socket), server, session)
        await at.make(Sockets())
        await until(lambda: server.connections == 1)
        await at.close()


async def test_the_one_that_was_used_last_goes_first():
    async with lending() as at:
        link = Sockets()
        first, second = await at.make(link), await at.make(link)
        at.host.give_back(first)
        at.host.give_back(second)
        assert [at.host.take(link) for _ in range(3)] == [second, first, None]


async def test_one_that_waits_is_nobodys_and_then_whose_it_is():
    async with lending() as at:
        one, other = Sockets(), Sockets(Leave(False))
        connection = await at.make(one)
        socket = socket_of(connection)
        assert socket.holder is one
        at.host.give_back(connection)
        assert socket.holder is NOBODY
        with pytest.raises(ConnectionLost):
            socket.write(b"x")
        assert at.host.take(other) is connection
        with pytest.raises(PermitLost):
            socket.write(b"x")


async def test_a_link_cuts_what_it_holds_and_nothing_else():
    async with lending() as at:
        one, other = Sockets(), Sockets()
        one.lent = other.lent = [at.host.sockets]
        lent = [await at.make(holder) for holder in (one, other, one)]
        mine, theirs, waiting = map(socket_of, lent)
        at.host.give_back(lent[2])
        one.sever()
        assert [socket.is_closing() for socket in (mine, theirs, waiting)] == [True, False, False]
        with pytest.raises(ConnectionLost):
            await at.make(one)
        other.close()
        assert [socket.is_closing() for socket in (mine, theirs, waiting)] == [True, True, False]


async def test_without_leave_nobody_is_called():
    async with lending() as at:
        with pytest.raises(PermitLost):
            await at.make(Sockets(Leave(False)))
        assert at.server.connections == 0


async def test_a_link_that_is_severed_while_it_connects_has_nothing():
    async with lending() as at:
        link = Sockets()
        making = asyncio.create_task(at.make(link))
        await asyncio.sleep(0)
        link.sever()
        with pytest.raises(ConnectionLost):
            await making
        assert at.host.sockets == []


async def test_what_a_server_has_not_read_goes_with_its_link():
    async with lending() as at:
        link = Sockets()
        link.lent = [at.host.sockets]
        connection = await at.make(link)
        socket = socket_of(connection)
        while not socket.get_write_buffer_size():
            socket.write(b"x" * 1_000_000)
        at.host.give_back(connection)
        assert (len(at.host), socket.is_closing()) == (0, True)
        link.drop_backlogs()
        assert socket.get_write_buffer_size() == 0


async def test_one_that_takes_no_request_any_more_is_passed_over():
    async with lending() as at:
        link = Sockets()
        whole, ended, talkative, closing = [await at.make(link) for _ in range(4)]
        for connection in (whole, ended, talkative, closing):
            at.host.give_back(connection)
        ended.close()
        socket_of(closing).abort()
        assert isinstance(talkative.protocol, Frugal)
        talkative.protocol.data_received(b"HTTP/1.1 200 OK\r\n\r\n")
        assert at.host.take(link) is whole
        assert [one.closed for one in (ended, talkative, closing)] == [True, True, True]


async def test_one_that_cannot_be_used_again_is_not_kept():
    async with lending() as at:
        ending, ended = [await at.make(Sockets()) for _ in range(2)]
        assert ending.protocol is not None
        ending.protocol.force_close()
        ended.close()
        for connection in (ending, ended):
            at.host.give_back(connection)
        assert (len(at.host), ending.closed) == (0, True)


async def test_each_is_kept_for_a_while_only(monkeypatch: pytest.MonkeyPatch):
    now = 1000.0
    monkeypatch.setattr(http_host, "monotonic", lambda: now)
    async with lending() as at:
        link = Sockets()
        old, new = await at.make(link), await at.make(link)
        at.host.give_back(old)
        now += 1
        at.host.give_back(new)
        now += http_host.KEPT - 0.5
        assert [at.host.take(link) for _ in range(2)] == [new, None]
        assert old.closed


async def test_nobody_has_to_ask_for_one_that_it_is_closed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_host, "KEPT", 0.05)
    async with lending() as at:
        for _ in range(2):
            connections = [await at.make(Sockets()) for _ in range(4)]
            for connection in connections:
                at.host.give_back(connection)
                await asyncio.sleep(0.02)
            await until(lambda: not len(at.host))
            assert all(connection.closed for connection in connections)


async def test_what_is_given_back_after_the_end_is_closed_too():
    async with lending() as at:
        kept, late = [await at.make(Sockets()) for _ in range(2)]
        at.host.give_back(kept)
        await at.host.close()
        assert kept.closed
        at.host.give_back(late)
        assert (late.closed, len(at.host)) == (True, 0)


async def test_only_those_that_are_open_are_remembered():
    async with lending() as at:
        for _ in range(5):
            (await at.make(Sockets())).close()
        assert len(at.host.sockets) == 1
