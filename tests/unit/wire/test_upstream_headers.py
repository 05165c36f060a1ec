"""Headers of every HTTP request to an upstream server, as real local servers get them by every path."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bascule.config import OAuthSettings
from bascule.core.sensitivity import DataSensitivity
from bascule.identity.jwt.remote_jwks import fetch_key_set
from bascule.identity.oauth.challenge import Challenge
from bascule.kit.connectors import HttpConnector, HttpSource
from bascule.transports.auth.oauth_flow import Wish, log_in
from bascule.transports.auth.oauth_requests import Fetch
from bascule.transports.http.body import PIECE
from bascule.wire.upstream_headers import UPSTREAM_HEADERS
from support.fake_login import FakeLogin, fake_login
from support.http_links import LONG, OLD, ask, ask_new, http_link, new_link, old_link
from support.http_servers import (
    Asked,
    RawServer,
    http_reply,
    raw_server,
    raw_unix_server,
    result_body,
    stream_head,
)
from support.sse_servers import sse_link, sse_peer
from support.waiting import fail_after
from support.web_service import web_service
from support.ws_links import ws_link
from support.ws_servers import accepting

PACKAGE = Path(__file__).parents[3] / "src/bascule"

Seen = list[tuple[str, dict[str, str]]]
"""`METHOD path` and the headers of each request that a server got. Header names are in lower case."""


def seen_by(server: RawServer) -> Seen:
    return [(f"{asked.method} {asked.path}", asked.headers) for asked in server.asked]


async def mcp(asked: Asked, writer: asyncio.StreamWriter) -> None:
    """An MCP server over streamable HTTP, of either era."""
    if asked.method == "GET":
        writer.write(stream_head())
    elif asked.method == "DELETE":
        writer.write(http_reply(kind=""))
    else:
        result = {"protocolVersion": OLD}
        writer.write(http_reply(result_body(asked.message.get("id"), result), Mcp_Session_Id="s-1"))


async def new_era() -> Seen:
    async with raw_server(mcp) as server, new_link(server.url) as link:
        await link.send(ask_new("tools/call"))
        return seen_by(server)


async def large_body() -> Seen:
    """A body that is longer than one write is sent by aiohttp's client."""
    async with raw_server(mcp) as server, new_link(server.url) as link:
        await link.send(ask_new("tools/call", {"text": "x" * PIECE}))
        return seen_by(server)


async def socket_file() -> Seen:
    async with raw_unix_server(mcp) as server, http_link("http://localhost/mcp", socket=server.socket) as link:
        await link.send(ask())
        return seen_by(server)


async def redirected() -> Seen:
    async def moved(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.path == "/moved":
            await mcp(asked, writer)
        else:
            writer.write(http_reply(status="307 Temporary Redirect", Location="/moved"))

    async with raw_server(moved) as server, new_link(server.url) as link:
        await link.send(ask_new("tools/call"))
        return seen_by(server)


async def old_era() -> Seen:
    async with raw_server(mcp) as server:
        async with old_link(server.url):
            await server.next("GET")
        return seen_by(server)


async def http_sse() -> Seen:
    async with sse_peer() as peer, sse_link(peer) as link:
        await link.send(ask())
        return seen_by(peer.server)


async def websocket() -> Seen:
    async def silent(_: asyncio.StreamWriter) -> None:
        """Sends nothing after the handshake."""

    async with raw_server(accepting(silent)) as server:
        async with ws_link(server.url, grace=0.1):
            pass
        return seen_by(server)


async def login() -> Seen:
    async def asked(fake: FakeLogin, fetch: Fetch) -> None:
        challenge = await fetch.challenge(fake.url, {}, b"{}")
        back = "http://127.0.0.1:7/callback"
        kept = await log_in(Wish("alice", fake.url, OAuthSettings(), challenge, back, fake.browser), fetch, 0.0)
        assert challenge != Challenge()
        assert kept.tokens is not None

    async with fake_login() as fake, Fetch(fake.url) as fetch:
        await asked(fake, fetch)
        return fake.headers


async def key_set() -> Seen:
    async def keys(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(b'{"keys": []}'))

    async with raw_server(keys) as server:
        await fetch_key_set(server.url)
        return seen_by(server)


async def connector() -> Seen:
    with web_service() as service:
        source = HttpSource("api", base_url=service.url, sensitivity=DataSensitivity.PUBLIC, allow_private=True)
        await asyncio.to_thread(HttpConnector.get, source, "items")
        return [(f"{method} {path}", headers) for method, path, headers, _ in service.asked]


PATHS: dict[str, tuple[str, Callable[[], Awaitable[Seen]]]] = {
    "request of the new era": ("POST /mcp", new_era),
    "request with a large body": ("POST /mcp", large_body),
    "request through a socket file": ("POST /mcp", socket_file),
    "request after a redirect": ("POST /moved", redirected),
    "request of the old era": ("POST /mcp", old_era),
    "server stream of the old era": ("GET /mcp", old_era),
    "end of a session of the old era": ("DELETE /mcp", old_era),
    "HTTP+SSE event stream": ("GET /sse", http_sse),
    "HTTP+SSE message": ("POST /messages?session=1", http_sse),
    "WebSocket handshake": ("GET /mcp", websocket),
    "OAuth challenge": ("POST /mcp", login),
    "OAuth metadata of the resource": ("GET /.well-known/oauth-protected-resource/mcp", login),
    "OAuth metadata of the authorization server": ("GET /.well-known/oauth-authorization-server", login),
    "OAuth registration": ("POST /register", login),
    "OAuth token": ("POST /token", login),
    "JWKS": ("GET /mcp", key_set),
    "HTTP connector of the kit": ("GET /items", connector),
}
"""Each path by which an HTTP request reaches an upstream server: one request of it, and a function that sends it."""


@pytest.mark.parametrize("path", PATHS)
async def test_a_header_added_here_arrives_by_every_path(path: str, monkeypatch: pytest.MonkeyPatch):
    request, send = PATHS[path]
    monkeypatch.setitem(UPSTREAM_HEADERS, "X-Added", "here")
    async with fail_after(LONG, path):
        seen = await send()

    arrived = [headers for line, headers in seen if line == request]
    assert arrived, seen
    for headers in arrived:
        assert (headers.get("user-agent"), headers.get("x-added")) == ("bascule", "here")


CLIENT = re.compile(r"\bClientSession\(|\bHTTPS?Connection\b|\burlopen\(|\bhttpx2?\.(Async)?Client\(")

CLIENTS = {
    "identity/jwt/remote_jwks.py": "",
    "kit/connectors/http/exchange.py": "",
    "transports/auth/oauth_requests.py": "",
    "transports/http/endpoint.py": "",
    "transports/websocket/handshake.py": "",
    "gateway/cluster/forward.py": "another worker of the same gateway is no upstream server",
    "demo/showcase/traffic.py": "it plays a client of the gateway",
}
"""Modules that make an HTTP client. A reason stands where its requests need no path above."""


def test_no_other_module_makes_an_http_client():
    found = {str(file.relative_to(PACKAGE)) for file in PACKAGE.rglob("*.py") if CLIENT.search(file.read_text())}

    assert found == set(CLIENTS), "add each path of a new HTTP client to PATHS, then its module to CLIENTS"
