"""Fallback of a link from streamable HTTP to HTTP+SSE."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from bascule.core.errors import BasculeError, ConnectFailed, LoginNeeded, PeerError
from bascule.transports.http.dispatcher import HttpDispatcher
from bascule.transports.http.legacy_sse import SseDispatcher
from bascule.upstream.link import Link, neither_way
from bascule.upstream.state import LinkState
from support.http_servers import error_body, http_reply, stream_head
from support.links import a_link, a_plan
from support.servers import CAP
from support.sse_servers import SsePeer, working_peer
from support.streams import a_request


@asynccontextmanager
async def link_by_url(peer: SsePeer, *, fallback: bool = True, **terms: Any) -> AsyncGenerator[Link]:
    limit = terms.get("connect", 10.0)
    first, older = (
        partial(kind, peer.url, {}, max_message=CAP, connect_timeout=limit) for kind in (HttpDispatcher, SseDispatcher)
    )
    link = a_link(replace(a_plan(first, **terms), older=older if fallback else None))
    link.start()
    try:
        yield link
    finally:
        await link.close()


async def failure(peer: SsePeer, **options: Any) -> BasculeError:
    async with link_by_url(peer, **options) as link:
        with pytest.raises(BasculeError) as caught:
            await link.opened()
        assert link.condition.error is caught.value
    return caught.value


def methods(peer: SsePeer) -> list[str]:
    return [asked.method for asked in peer.server.asked if asked.path == "/sse"]


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "405 Method Not Allowed"])
async def test_a_server_that_speaks_only_http_with_sse_is_reached_by_its_url_alone(status: str):
    async with working_peer() as peer:
        peer.turned_away = http_reply(b'{"detail": "no"}', status)
        async with link_by_url(peer) as link:
            await link.opened()
            assert (link.kind, link.older_way, link.condition.state) == ("sse", True, LinkState.READY)
            assert link.agreement is not None
            assert link.agreement.version == "2024-11-05"
            assert (await link.send(a_request("tools/call")))["content"][0]["text"] == "done"

    assert methods(peer) == ["POST", "POST", "GET"]


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_who_we_are_decides_nothing_about_the_way(status: str):
    async with working_peer() as peer:
        peer.turned_away = http_reply(b"", status)
        assert isinstance(await failure(peer), LoginNeeded)

    assert methods(peer) == ["POST"]


@pytest.mark.parametrize(
    "answer",
    [
        http_reply(error_body(None, -32600, "Missing session ID"), "400 Bad Request"),
        http_reply(b"busy", "503 Service Unavailable", "text/plain"),
        http_reply(b"<h1>Hello</h1>", kind="text/html"),
    ],
)
async def test_any_other_answer_does_not_lead_to_the_older_way(answer: bytes):
    async with working_peer() as peer:
        peer.turned_away = answer
        await failure(peer)

    assert "GET" not in methods(peer)


async def test_without_an_older_way_the_refusal_stands():
    async with working_peer() as peer:
        error = await failure(peer, fallback=False)

    assert "HTTP 404" in error.evidence
    assert methods(peer) == ["POST", "POST"]


async def test_the_new_era_alone_does_not_lead_to_the_older_way():
    async with working_peer() as peer:
        await failure(peer, era="new")

    assert methods(peer) == ["POST"]


@pytest.mark.parametrize(
    ("opening", "says"),
    [
        (http_reply(b"Cannot GET /sse", "404 Not Found", "text/html"), "HTTP 404"),
        (http_reply(b"<h1>Hello</h1>", kind="text/html"), "text/html"),
        (stream_head() + b"event: endpoint\ndata: http://elsewhere.test/\n\n", "another server"),
    ],
)
async def test_where_neither_way_leads_in_both_are_told_with_the_fix(opening: bytes, says: str):
    async with working_peer() as peer:
        peer.opening = opening
        error = await failure(peer)

    assert isinstance(error, ConnectFailed)
    first, older = error.evidence.split("\n", 1)
    assert "streamable HTTP: " in first
    assert "HTTP 404" in first
    assert older.startswith("HTTP+SSE: ")
    assert says in older
    assert "/sse" in error.fix
    assert error.cause


async def test_a_login_that_only_the_older_way_asks_for_is_one():
    async with working_peer() as peer:
        peer.opening = http_reply(b"", "401 Unauthorized")
        async with link_by_url(peer) as link:
            with pytest.raises(LoginNeeded):
                await link.opened()
            assert link.condition.state is LinkState.NEEDS_AUTH


def test_what_the_second_attempt_knows_of_the_cause_is_kept():
    error = neither_way(PeerError("no", evidence="HTTP 404"), PeerError("dead", cause="nothing listens there"))

    assert error.cause == "nothing listens there"
    assert error.evidence == "streamable HTTP: no (HTTP 404)\nHTTP+SSE: dead"
