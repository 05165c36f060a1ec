"""A login server nobody here wrote, an MCP server that asks it who comes, and a browser that a test plays."""

import asyncio
import fcntl
import json
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import aiohttp
import pytest
from mcp.server import MCPServer
from mcp.server.auth.provider import AccessToken
from mcp.server.auth.settings import AuthSettings

from support.http_servers import asgi_server
from support.ports import free_port
from support.waiting import fail_after

ROOT = Path(__file__).parent.parent.parent
PACKAGE = "oidc-provider@9.13.3"
FOLDER = ROOT / "build" / "login-server"
SCRIPT = Path(__file__).parent.parent / "servers" / "login_server.mjs"

MARK = "/nothing-is-here"

GUARD = {"Authorization": aiohttp.encode_basic_auth("guard", "guard-secret-of-the-resource")}
"""As whom the MCP server asks about tokens."""


def installed() -> Path:
    """The entry of the package, fetched once and kept. Skips where it cannot be had."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("Node is not installed, so there is no login server to test with")
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # other workers want it at the same time
        marker = FOLDER / ".complete"
        if not marker.exists():
            argv = [npm, "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(FOLDER), PACKAGE]
            if subprocess.run(argv, check=False, timeout=300).returncode != 0:
                pytest.skip(f"npm could not install {PACKAGE}")
            marker.touch()
    return FOLDER / "node_modules" / "oidc-provider" / "lib" / "index.js"


@dataclass(frozen=True)
class Seen:
    """One request that a login server answered."""

    path: str
    grant: str | None
    status: int


@dataclass
class LoginServer:
    """A running login server, and what it was asked so far."""

    issuer: str
    seen: list[Seen] = field(default_factory=list[Seen])
    _marked: asyncio.Event = field(default_factory=asyncio.Event)

    def told(self, seen: Seen) -> None:
        if seen.path == MARK:
            self._marked.set()
        else:
            self.seen.append(seen)

    async def answered(self, path: str = "/token", grant: str | None = None) -> list[int]:
        """The statuses with which it has answered such requests up to now."""
        self._marked.clear()
        # What was asked before this is told before it.
        async with aiohttp.ClientSession() as session, session.get(f"{self.issuer}{MARK}"):
            await self._marked.wait()
        return [seen.status for seen in self.seen if seen.path == path and grant in {None, seen.grant}]

    async def revoke(self, token: str, client_id: str, secret: str | None) -> None:
        """Take a token away, as somebody else than the user may do."""
        form = {"token": token, "client_id": client_id}
        headers = {"Authorization": aiohttp.encode_basic_auth(client_id, secret)} if secret else {}
        url = f"{self.issuer}/token/revocation"
        async with aiohttp.ClientSession() as session, session.post(url, data=form, headers=headers) as response:
            assert response.status == 200, await response.text()


@asynccontextmanager
async def login_server(resource: str, *, life: int = 600) -> AsyncGenerator[LoginServer]:
    """A login server for the length of the block, whose access tokens live so many seconds."""
    entry = await asyncio.to_thread(installed)
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        "node", str(SCRIPT), str(port), resource, str(life), str(entry), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    server = LoginServer(f"http://127.0.0.1:{port}")
    try:
        async with fail_after(30, "the start of the login server"):
            while b"ready" not in (line := await process.stdout.readline()):
                assert line, "the login server did not start"
        listening = asyncio.create_task(_listen(process.stdout, server))
        yield server
        listening.cancel()
    finally:
        process.terminate()
        await process.wait()


async def _listen(stream: asyncio.StreamReader, server: LoginServer) -> None:
    while line := await stream.readline():
        if line.startswith(b"{"):  # the package prints advice of its own
            server.told(Seen(**json.loads(line)))


@dataclass
class Guarded:
    """An MCP server behind a login."""

    url: str
    login: LoginServer
    notes: list[str] = field(default_factory=list[str])
    """What its tool was told to write, so that a test can count."""
    tired_of: set[str] = field(default_factory=set[str])
    """Access tokens that it takes no longer, whatever the login server says of them."""


class Introspection:
    """Asks the login server about each token, as RFC 7662 says."""

    def __init__(self, guarded: Guarded) -> None:
        self._issuer = guarded.login.issuer
        self._resource = guarded.url
        self._tired_of = guarded.tired_of

    async def verify_token(self, token: str) -> AccessToken | None:
        if token in self._tired_of:
            return None
        url, form = f"{self._issuer}/token/introspection", {"token": token}
        async with aiohttp.ClientSession(headers=GUARD) as session, session.post(url, data=form) as response:
            told = await response.json()
        if not told.get("active") or told.get("aud") != self._resource:
            return None
        scopes = told.get("scope", "").split()
        return AccessToken(token=token, client_id=told["client_id"], scopes=scopes, resource=self._resource)


@asynccontextmanager
async def guarded_server(*, life: int = 600, scopes: list[str] | None = None) -> AsyncGenerator[Guarded]:
    """The official SDK's server, protected by a real login server."""
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    async with login_server(url, life=life) as login:
        guarded = Guarded(url, login)
        app = notes_server(guarded, scopes or ["notes"]).streamable_http_app()
        async with asgi_server(app, listener):
            yield guarded


def notes_server(guarded: Guarded, scopes: list[str]) -> MCPServer:
    server = MCPServer(
        "guarded-notes",
        token_verifier=Introspection(guarded),
        auth=AuthSettings.model_validate(
            {
                "issuer_url": guarded.login.issuer,
                "resource_server_url": guarded.url,
                "required_scopes": scopes,
                "validate_token_resource": True,
            }
        ),
    )

    @server.tool()
    def write(text: str) -> str:
        """Write a note."""
        guarded.notes.append(text)
        return f"wrote {text}"

    return server


class Browser:
    """A person with a browser: fills in whatever forms the login server shows, and says yes."""

    def __init__(self, login: str = "alice", *, deny: bool = False) -> None:
        self._login = login
        self._deny = deny

    async def __call__(self, url: str) -> str:
        """Log in at this address. Gives the one to which the login server sends the browser in the end."""
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as session:
            response = await session.get(url, allow_redirects=False)
            for _ in range(20):
                location = response.headers.get("Location")
                if location is not None:
                    url = urljoin(str(response.url), location)
                    if urlsplit(url).path == "/callback":
                        return url
                    response = await session.get(url, allow_redirects=False)
                else:
                    response = await self._submit(session, response)
        raise AssertionError(f"the login came to no end, last at {url}")

    async def visit(self, url: str) -> str:
        """The same, and go to where the login server sends us. Gives the page that is shown there."""
        back = await self(url)
        async with aiohttp.ClientSession() as session, session.get(back) as response:
            return await response.text()

    async def _submit(self, session: aiohttp.ClientSession, response: aiohttp.ClientResponse) -> Any:
        page = await response.text()
        action = re.search(r'action="([^"]+)"', page)
        prompt = re.search(r'name="prompt" value="([^"]+)"', page)
        assert action is not None, f"HTTP {response.status}: {page[:2000]}"
        if self._deny:
            abort = re.search(r'href="([^"]+/abort)"', page)
            assert abort is not None, page[:2000]
            return await session.get(urljoin(str(response.url), abort[1]), allow_redirects=False)
        fields = {"prompt": prompt[1] if prompt else "", "login": self._login, "password": "any"}
        return await session.post(urljoin(str(response.url), action[1]), data=fields, allow_redirects=False)
