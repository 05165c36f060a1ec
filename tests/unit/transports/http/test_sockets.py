"""The sockets of a link: made and written to only with leave, and cut all at once."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp.client_proto import ResponseHandler

from bascule.core.errors import ConnectionLost, PermitLost
from bascule.transports.http.sockets import Guarded, Sockets
from support.handed_over import handed_over
from support.http_servers import Asked, RawServer, http_reply, raw_server, raw_unix_server
from support.streams import Leave
from support.waiting import fail_after


async def greet(_asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(http_reply(b"hello"))


async def ignore(_asked: Asked, _writer: asyncio.StreamWriter) -> None:
    """It never answers."""


@asynccontextmanager
async def session_on(sockets: Sockets, path: str | None = None) -> AsyncGenerator[aiohttp.ClientSession]:
    async with fail_after(20), aiohttp.ClientSession(connector=sockets.connector(path, limit=0)) as session:
        yield session


async def get(session: aiohttp.ClientSession, server: RawServer) -> bytes:
    url = server.url if not server.socket else "http://localhost/"
    async with session.get(url) as response:
        return await response.read()


class Pipe(asyncio.Transport):
    """Writes down what is done to it."""

    def __init__(self) -> None:
        super().__init__()
        self.done: list[object] = []

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.done.append(bytes(data))

    def writelines(self, list_of_data: object) -> None:
        self.done.append(list_of_data)

    def close(self) -> None:
        self.done.append("closed")

    def abort(self) -> None:
        self.done.append("aborted")


def made(pipe: Pipe) -> ResponseHandler:
    """A connection as aiohttp makes it."""
    protocol = ResponseHandler(asyncio.get_running_loop())
    protocol.transport = pipe
    return protocol


async def test_leave_is_asked_in_the_step_of_each_write():
    leave, pipe = Leave(), Pipe()
    guarded = Guarded(pipe, Sockets(leave))
    guarded.write(b"a")
    guarded.writelines([b"b"])
    leave.given = False
    for write in (lambda: guarded.write(b"c"), lambda: guarded.writelines([b"d"])):
        with pytest.raises(PermitLost):
            write()
    leave.given = True
    guarded.write(b"e")

    assert pipe.done == [b"a", [b"b"], b"e"]


async def test_without_leave_a_socket_is_closed_without_what_it_holds():
    leave = Leave()
    willing, unwilling = Pipe(), Pipe()
    Guarded(willing, Sockets(leave)).close()
    leave.given = False
    Guarded(unwilling, Sockets(leave)).close()

    assert (willing.done, unwilling.done) == (["closed"], ["aborted"])


async def test_all_else_is_left_to_the_transport_beneath():
    async with raw_server(greet) as server:
        loop = asyncio.get_running_loop()
        inner, protocol = await loop.create_connection(asyncio.Protocol, "127.0.0.1", server.port)
        guarded = Guarded(inner, Sockets(Leave()))
        guarded.set_write_buffer_limits(high=7)
        guarded.pause_reading()

        assert guarded.get_protocol() is protocol
        assert guarded.get_extra_info("peername") == ("127.0.0.1", server.port)
        assert (guarded.get_write_buffer_size(), guarded.get_write_buffer_limits()) == (0, (1, 7))
        assert not guarded.is_reading()
        guarded.resume_reading()
        assert guarded.is_reading()
        assert guarded.can_write_eof()
        guarded.set_protocol(asyncio.Protocol())
        assert guarded.get_protocol() is not protocol
        guarded.write_eof()
        assert not guarded.is_closing()
        guarded.abort()
        assert inner.is_closing()


async def test_without_leave_no_connection_is_made():
    leave = Leave()
    leave.given = False
    async with raw_server(greet) as server, session_on(Sockets(leave)) as session:
        with pytest.raises(PermitLost):
            await get(session, server)
        assert server.connections == 0
        leave.given = True
        assert await get(session, server) == b"hello"


async def test_without_leave_nothing_is_written_on_a_connection_that_stands():
    leave = Leave()
    async with raw_unix_server(greet) as server, session_on(Sockets(leave), server.socket) as session:
        assert await get(session, server) == b"hello"
        with handed_over() as counted:
            leave.given = False
            with pytest.raises(PermitLost):
                await get(session, server)
            assert counted.pieces == []
        leave.given = True
        assert await get(session, server) == b"hello"


@pytest.mark.parametrize("leave", [None, Leave()])
async def test_severed_sockets_end_at_once_and_none_is_made_any_more(leave: Leave | None):
    sockets = Sockets(leave)
    async with raw_server(ignore) as server, session_on(sockets) as session:
        asking = asyncio.create_task(get(session, server))
        await server.next()
        sockets.sever()
        # aiohttp would ask again on another connection.
        with pytest.raises((aiohttp.ClientError, ConnectionLost)):
            await asking
        with pytest.raises(ConnectionLost) as lost:
            await get(session, server)
        assert not lost.value.sent
        assert server.connections == 1


async def test_a_connection_that_was_being_made_when_all_were_severed_is_not_used():
    sockets, pipe = Sockets(), Pipe()
    sockets.sever()
    with pytest.raises(ConnectionLost):
        sockets.take(made(pipe))

    assert pipe.done == ["aborted"]


async def test_only_sockets_that_hold_something_are_dropped_and_not_those_spared():
    class Full(Pipe):
        def get_write_buffer_size(self) -> int:
            return 1

        def is_closing(self) -> bool:
            return bool(self.done)

    class Empty(Full):
        def get_write_buffer_size(self) -> int:
            return 0

    sockets, pipes = Sockets(), (Full(), Full(), Empty())
    _, spared, _ = [sockets.take(made(pipe)).transport for pipe in pipes]
    sockets.drop_backlogs(but=[spared, None])

    assert [pipe.done for pipe in pipes] == [["aborted"], [], []]
    sockets.abort()
    assert [pipe.done for pipe in pipes[1:]] == [["aborted"], ["aborted"]]
