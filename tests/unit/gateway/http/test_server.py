"""How a web server ends: at once, or when those who are there have left."""

import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bascule.core.errors import ConfigError
from bascule.gateway.http.server import WebServer, listen_at
from bascule.gateway.mcp.exchange import respond
from bascule.gateway.readiness import Readiness
from support.kit_http import line_to
from support.waiting import fail_after, until


class App:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.asked = 0
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        await self.go_on.wait()
        await respond(send, 200, b"{}")


@asynccontextmanager
async def served(app: App) -> AsyncGenerator[tuple[WebServer, int, asyncio.Task[None]]]:
    readiness = Readiness()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        server = WebServer(app, readiness)
        started = asyncio.Event()
        serving = asyncio.create_task(server.serve(listening, on_started=started.set))
        async with fail_after(10, "a web server"):
            await started.wait()
            try:
                yield server, port, serving
            finally:
                app.go_on.set()
                server.stop()
                await serving


async def test_a_connection_that_idles_is_served_once_more_by_one_that_retires_and_told_that_it_was_the_last_time():
    app = App()
    async with served(app) as (server, port, serving), line_to(port) as line:
        assert "connection" not in (await line.send(b"{}")).headers
        server.retire()
        await asyncio.sleep(0)
        answer = await line.send(b"{}")
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        await serving
    assert app.asked == 2


async def test_who_retires_takes_no_new_connection_and_leaves_those_of_others_alone():
    app = App()
    with socket.create_server(("127.0.0.1", 0)) as shared:
        readiness = Readiness()
        server, started = WebServer(app, readiness), asyncio.Event()
        async with fail_after(10, "a web server that retires"):
            serving = asyncio.create_task(server.serve(shared.dup(), on_started=started.set))
            await started.wait()
            server.retire()
            await serving
        # Nobody here accepts it any more, and it is not turned away: another one may.
        with socket.create_connection(shared.getsockname()) as waiting:
            waiting.sendall(b"GET / HTTP/1.1\r\n\r\n")
            accepted, _ = shared.accept()
            with accepted:
                assert accepted.recv(3) == b"GET"
    assert app.asked == 0


async def test_what_is_under_way_is_answered_also_where_it_began_before_the_end():
    app = App()
    async with served(app) as (server, port, serving), line_to(port) as line:
        app.go_on.clear()
        asking = asyncio.ensure_future(line.send(b"{}"))
        await until(lambda: app.asked == 1)
        server.retire()
        await asyncio.sleep(0)
        app.go_on.set()
        answer = await asking
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        await serving


async def test_one_that_is_told_to_stop_before_it_serves_stops():
    app = App()
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = WebServer(app, Readiness())
        server.stop()
        async with fail_after(10, "its end"):
            await server.serve(listening)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_it_listens_at_once(host: str):
    listening = listen_at(host, 0, named="here", fix="none")
    with listening, socket.create_connection(listening.getsockname()[:2], timeout=10) as client:
        assert client.getpeername()[:2] == listening.getsockname()[:2]


def test_an_address_that_is_taken_is_named_with_what_to_do():
    taken = socket.create_server(("127.0.0.1", 0))
    with taken, pytest.raises(ConfigError, match="cannot listen at this: Address already in use") as caught:
        listen_at("127.0.0.1", taken.getsockname()[1], named="this", fix="choose another")
    assert caught.value.fix == "choose another"
