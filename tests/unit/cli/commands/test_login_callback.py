"""Loopback listener for the redirect of a login."""

import asyncio
import socket
from contextlib import suppress

import aiohttp
import pytest

from bascule.cli.commands import login_callback as receiving
from bascule.cli.commands.login_callback import LONGEST_HEAD, receiver
from bascule.core.errors import UsageError
from support.waiting import fail_after

ASKED = "https://login.example/authorize?state=s-1&client_id=c"


async def visit(url: str) -> tuple[int, str]:
    async with aiohttp.ClientSession() as session, session.get(url) as response:
        return response.status, await response.text()


async def test_a_browser_with_the_right_state_is_received():
    async with fail_after(10), receiver() as waiting:
        assert waiting.redirect_uri == f"http://127.0.0.1:{waiting.port}/callback"
        back = asyncio.create_task(waiting.returned_from(ASKED))
        await asyncio.sleep(0)
        status, page = await visit(f"{waiting.redirect_uri}?code=c&state=s-1")

        assert (status, await back) == (200, f"{waiting.redirect_uri}?code=c&state=s-1")
        assert "terminal" in page
        assert "s-1" not in page


@pytest.mark.parametrize(
    "target", ["/callback", "/callback?state=other", "/callback?state=s-1&state=s-1", "/else?state=s-1", "/"]
)
async def test_whoever_else_knocks_learns_nothing_and_ends_nothing(target: str):
    async with fail_after(10), receiver() as waiting:
        back = asyncio.create_task(waiting.returned_from(ASKED))
        await asyncio.sleep(0)
        status, _ = await visit(f"http://127.0.0.1:{waiting.port}{target}")
        assert status == 404
        assert not back.done()
        await visit(f"{waiting.redirect_uri}?code=c&state=s-1")

        assert "code=c" in await back


async def test_nobody_is_received_before_a_login_has_begun():
    async with fail_after(10), receiver() as waiting:
        assert (await visit(f"{waiting.redirect_uri}?code=c&state="))[0] == 404
        assert waiting.strays == 1


async def test_only_the_first_is_received():
    async with fail_after(10), receiver() as waiting:
        back = asyncio.create_task(waiting.returned_from(ASKED))
        await asyncio.sleep(0)
        await visit(f"{waiting.redirect_uri}?code=first&state=s-1")
        status, _ = await visit(f"{waiting.redirect_uri}?code=second&state=s-1")

        assert status == 404
        assert "first" in await back


async def test_a_refusal_is_received_too():
    async with fail_after(10), receiver() as waiting:
        back = asyncio.create_task(waiting.returned_from(ASKED))
        await asyncio.sleep(0)
        await visit(f"{waiting.redirect_uri}?error=access_denied&state=s-1")

        assert "error=access_denied" in await back


@pytest.mark.parametrize(
    "sent", [b"", b"rubbish\r\n\r\n", b"GET http://[ HTTP/1.1\r\n\r\n", b"POST /callback?state=s-1 HTTP/1.1\r\n\r\n"]
)
async def test_what_is_no_browser_does_no_harm(sent: bytes):
    async with fail_after(10), receiver() as waiting:
        back = asyncio.create_task(waiting.returned_from(ASKED))
        reader, writer = await asyncio.open_connection("127.0.0.1", waiting.port)
        writer.write(sent)
        writer.write_eof()
        await reader.read()
        writer.close()
        await visit(f"{waiting.redirect_uri}?code=c&state=s-1")

        assert "code=c" in await back


async def test_a_head_without_an_end_is_cut_off():
    async with fail_after(10), receiver() as waiting:
        reader, writer = await asyncio.open_connection("127.0.0.1", waiting.port)
        writer.write(b"GET /" + b"x" * (LONGEST_HEAD * 4))
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()


async def test_a_visitor_who_says_nothing_is_sent_away(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(receiving, "READ_TIMEOUT", 0.05)
    async with fail_after(10), receiver() as waiting:
        reader, writer = await asyncio.open_connection("127.0.0.1", waiting.port)
        assert await reader.read() == b""
        writer.close()


async def test_a_port_that_is_taken_is_told():
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(UsageError, match="cannot be used") as caught:
        async with receiver(taken.getsockname()[1]):
            pass

    assert "--port" in caught.value.fix


async def test_it_listens_on_this_machine_alone_and_only_for_its_block():
    async with receiver() as waiting:
        port = waiting.port
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
