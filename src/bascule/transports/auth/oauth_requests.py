"""HTTP requests of an OAuth login, with an SSRF guard: the server names their addresses, so each is checked before
use."""

import socket
from collections.abc import Mapping
from typing import Self

import aiohttp
import msgspec
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.resolver import ThreadedResolver
from yarl import URL

from bascule.core.errors import ConnectFailed, LoginFailed, ProtocolViolation
from bascule.core.request import Permit
from bascule.identity.oauth.challenge import Challenge, read_challenge
from bascule.identity.oauth.ssrf_guard import Reach, may_resolve_to, reach_of, url_refusal
from bascule.transports.http.address import MAX_REDIRECTS, REDIRECTS, origin, shown
from bascule.transports.http.response import PeerResponse
from bascule.transports.http.response_parser import plain, read_body
from bascule.transports.http.sockets import Sockets
from bascule.wire.jsonrpc import sample
from bascule.wire.upstream_headers import UPSTREAM_HEADERS

LONGEST_BODY = 256 * 1024
"""Bytes. The metadata of the largest login services takes a tenth of it."""

TIMEOUT = 15.0
"""Seconds for one request, whatever trickles in."""


class Fetched(msgspec.Struct, frozen=True):
    """An answer, read whole."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes

    def __repr__(self) -> str:
        return f"Fetched({self.status})"


class Fetch:
    """A few requests on behalf of one server. It shares nothing with other links, keeps no cookies, and follows no
    redirect to another server."""

    def __init__(self, server_url: str, peer: str = "", timeout: float = TIMEOUT, leave: Permit | None = None) -> None:
        """`peer` is the address of the connection that gave the challenge. Without it a server that is named by DNS
        counts as one of the internet."""
        self._server_url = server_url
        self._sockets = Sockets(leave)
        self._timeout = timeout
        self.reach = reach_of(server_url, peer)
        self._session: aiohttp.ClientSession | None = None

    async def __aenter__(self) -> Self:
        refusal = url_refusal(self._server_url, Reach.LOOPBACK)
        if refusal:
            raise LoginFailed(
                f"nobody can log in at {shown(URL(self._server_url))}: {refusal}",
                cause="tokens would travel where others can read them",
                fix="use the server's https address",
            )
        self._sockets.ask()
        self._session = aiohttp.ClientSession(
            # Without a cache every connection goes to an address that was checked for it.
            connector=self._sockets.connector(resolver=_Guarded(self), limit=4, use_dns_cache=False),
            response_class=PeerResponse,
            cookie_jar=aiohttp.DummyCookieJar(),
            headers={**UPSTREAM_HEADERS, "Accept-Encoding": "identity", "Accept": "application/json"},
            timeout=aiohttp.ClientTimeout(total=self._timeout),
            auto_decompress=False,
            trust_env=False,
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._session is not None:
            await self._session.close()

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes = b"") -> Fetched:
        """Send, and read the answer whole. Raises `LoginFailed` where the address or the answer is not acceptable, and
        `ConnectFailed` where nobody answered."""
        fetched = await self._send(method, url, headers, body)
        for _ in range(MAX_REDIRECTS):
            target = _same_origin(url, fetched) if method == "GET" else None
            if target is None:
                break
            url = target
            fetched = await self._send(method, url, headers, body)
        return fetched

    async def _send(self, method: str, url: str, headers: Mapping[str, str], body: bytes) -> Fetched:
        assert self._session is not None
        self.check(url)
        where = shown(URL(url))
        try:
            async with self._session.request(
                method, URL(url, encoded=True), headers=headers, data=body or None, allow_redirects=False
            ) as response:
                plain(response)
                data = await read_body(response, LONGEST_BODY)
                return Fetched(response.status, list(response.headers.items()), data)
        except ProtocolViolation as violation:
            raise LoginFailed(
                f"what {where} answers cannot be used: {violation.message}", where=where, evidence=violation.evidence
            ) from violation
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            # aiohttp tells a write that was refused as a broken connection.
            self._sockets.ask()
            raise _unreached(error, where) from error

    async def challenge(self, url: str, headers: Mapping[str, str], body: bytes) -> Challenge:
        """Challenge of the operator's own server, which may be on a private network. Reads the head of the response
        only."""
        assert self._session is not None
        self.reach = max(self.reach, Reach.PRIVATE)
        self.check(url)
        accept = {"Accept": "application/json, text/event-stream"}
        try:
            response = await self._session.post(
                URL(url, encoded=True), headers={**headers, **accept}, data=body, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _unreached(error, shown(URL(url))) from error
        response.close()
        assert isinstance(response, PeerResponse)
        self.reach = reach_of(self._server_url, response.peer)
        wanted = ", ".join(response.headers.getall("WWW-Authenticate", ()))
        return read_challenge(wanted if response.status in {401, 403} else "", response.peer)

    def check(self, url: str) -> None:
        """Raise `LoginFailed` unless a person or a request may be sent there."""
        refusal = url_refusal(url, self.reach)
        if refusal:
            raise _refused(url, refusal)


class _Guarded(AbstractResolver):
    """Resolver that returns only addresses within the reach of the login. aiohttp connects to these and looks up
    nothing again, so DNS cannot change between check and connection."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        reach = self._fetch.reach
        allowed = [each for each in found if may_resolve_to(host, each["host"].partition("%")[0], reach)]
        if not allowed:
            shown_as = ", ".join(dict.fromkeys(each["host"] for each in found))
            raise _refused(
                f"https://{host}",
                f"its name resolves to {sample(shown_as.encode())}, an address inside our own network",
                "name a server on this machine by its IP address or `localhost` in the config",
            )
        return allowed

    async def close(self) -> None:
        await self._inner.close()


def _same_origin(url: str, fetched: Fetched) -> str | None:
    """Where a redirect leads, if that is the same server. Any other is for whoever asked to make sense of."""
    location = dict(fetched.headers).get("Location")
    if fetched.status not in REDIRECTS or not location:
        return None
    try:
        target = URL(url).join(URL(location))
        return str(target) if origin(target) == origin(URL(url)) else None
    except ValueError:
        return None


def _refused(url: str, refusal: str, fix: str = "ask the operator of the server") -> LoginFailed:
    return LoginFailed(
        f"the login leads to {sample(url.partition('?')[0].encode())}, which is not followed: {refusal}",
        cause="the server, or its login server, is set up wrongly or means us harm",
        fix=fix,
    )


def _unreached(error: Exception, where: str) -> ConnectFailed:
    slow = isinstance(error, TimeoutError)
    return ConnectFailed(
        f"no answer from {where}, where logins are handled",
        where=where,
        evidence="it took too long" if slow else sample(f"{type(error).__name__}: {error}".encode()),
        fix="try again; if it stays so, ask whoever runs the login server",
    )
