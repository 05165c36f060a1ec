"""A login server and a server behind it in one small app, which misbehaves wherever a test wants it to."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlencode

import aiohttp
from aiohttp import web

from support.http_servers import aiohttp_server

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class FakeLogin:
    """Set `prm`, `metadata`, `token` and so on to change what is published; set `answers[path]` to answer by hand."""

    def __init__(self) -> None:
        self.origin = ""
        self.asked: list[tuple[str, str]] = []
        """Path and grant type of each request."""
        self.headers: list[tuple[str, dict[str, str]]] = []
        """`METHOD path` and the headers of each request. Header names are in lower case."""
        self.authorizations: list[str] = []
        """What came as `Authorization` to the server."""
        self.forms: list[dict[str, str]] = []
        """What the token endpoint was sent."""
        self.registered: list[dict[str, Any]] = []
        self.prm: dict[str, Any] = {}
        self.metadata: dict[str, Any] = {}
        self.token: dict[str, Any] = {}
        self.redirect: dict[str, str] = {}
        self.answers: dict[str, Handler] = {}
        self.demand: str | None = None
        """Another `WWW-Authenticate` than the usual one."""
        self.good: set[str] = set()
        """Access tokens that the server takes."""
        self.refresh = ""
        """The one refresh token that can still be spent."""
        self.scopes_needed: set[str] = set()
        self.holding: asyncio.Event | None = None
        """Where set, the token endpoint waits for it, and says so by `held`."""
        self.held = asyncio.Event()
        self.life: int | None = 3600
        self._made = 0
        self._scope = ""

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    @property
    def refreshes(self) -> int:
        return self.asked.count(("/token", "refresh_token"))

    def app(self) -> web.Application:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", self._answer)
        return app

    async def browser(self, url: str) -> str | None:
        """A person who says yes at once."""
        async with aiohttp.ClientSession() as session, session.get(url, allow_redirects=False) as response:
            return response.headers.get("Location")

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.headers.append((f"{request.method} {request.path}", headers))
        form = dict(await request.post()) if request.path == "/token" else {}
        self.asked.append((request.path, str(form.get("grant_type", ""))))
        if request.path in self.answers:
            return await self.answers[request.path](request)
        known: dict[str, Handler] = {
            "/mcp": self._mcp,
            "/.well-known/oauth-protected-resource/mcp": self._resource,
            "/.well-known/oauth-authorization-server": self._metadata,
            "/register": self._register,
            "/authorize": self._authorize,
            "/token": self._token,
            "/revoke": self._revoke,
        }
        answer = known.get(request.path)
        return await answer(request) if answer is not None else web.Response(status=404)

    async def _resource(self, request: web.Request) -> web.Response:
        told = {"resource": self.url, "authorization_servers": [self.origin], "scopes_supported": ["notes"]}
        return web.json_response({**told, **self.prm})

    async def _metadata(self, request: web.Request) -> web.Response:
        return web.json_response(self._published())

    async def _revoke(self, request: web.Request) -> web.Response:
        self.good.clear()
        return web.Response()

    def _published(self) -> dict[str, Any]:
        told = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "revocation_endpoint": f"{self.origin}/revoke",
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
            **self.metadata,
        }
        return {name: value for name, value in told.items() if value is not None}

    async def _register(self, request: web.Request) -> web.Response:
        asked = await request.json()
        self.registered.append(asked)
        made = {**asked, "client_id": f"client-{len(self.registered)}", "token_endpoint_auth_method": "none"}
        return web.json_response(made, status=201)

    async def _authorize(self, request: web.Request) -> web.Response:
        self._scope = request.query.get("scope", "")
        back = {"code": "the-code-of-this-login", "state": request.query["state"], "iss": self.origin, **self.redirect}
        query = urlencode({name: value for name, value in back.items() if value})
        return web.Response(status=302, headers={"Location": f"{request.query['redirect_uri']}?{query}"})

    async def _token(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.forms.append(form)
        if self.holding is not None:
            self.held.set()
            await self.holding.wait()
        if form["grant_type"] == "refresh_token" and form["refresh_token"] != self.refresh:
            return web.json_response({"error": "invalid_grant"}, status=400)
        self._made += 1
        access, self.refresh = f"access-token-{self._made}", f"refresh-token-{self._made}"
        self.good = {access}
        told = {"access_token": access, "token_type": "Bearer", "refresh_token": self.refresh, "scope": self._scope}
        life = {} if self.life is None else {"expires_in": self.life}
        return web.json_response({**told, **life, **self.token})

    async def _mcp(self, request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "")
        self.authorizations.append(given)
        if given.removeprefix("Bearer ") not in self.good:
            return web.Response(status=401, headers={"WWW-Authenticate": self._demanded()})
        if not self.scopes_needed <= set(self._scope.split()):
            wanted = " ".join(sorted(self.scopes_needed))
            demand = f'Bearer error="insufficient_scope", scope="{wanted}"'
            return web.Response(status=403, headers={"WWW-Authenticate": demand})
        message = await request.json()
        return web.json_response({"jsonrpc": "2.0", "id": message.get("id"), "result": {"ok": True}})

    def _demanded(self) -> str:
        place = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
        return f'Bearer resource_metadata="{place}"' if self.demand is None else self.demand


@asynccontextmanager
async def fake_login() -> AsyncGenerator[FakeLogin]:
    fake = FakeLogin()
    async with aiohttp_server(fake.app()) as origin:
        fake.origin = origin
        yield fake
