"""HTTP requests of an OAuth login, with an SSRF guard: the server names their addresses, so each is checked before
use."""

import asyncio
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
from bascule.identity.oauth.ssrf_guard import Reach, literal_address, may_connect, reach_of, url_refusal
from bascule.transports.http.address import MAX_REDIRECTS, REDIRECTS, origin, shown
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

    def __init__(self, server_url: str, timeout: float = TIMEOUT, leave: Permit | None = None) -> None:
        self._server_url = server_url
        self._sockets = Sockets(leave)
        self._timeout = timeout
        self.reach = Reach.PUBLIC
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
        self.reach = reach_of(await _addresses(URL(self._server_url).raw_host or ""))
        self._session = aiohttp.ClientSession(
            connector=self._sockets.connector(resolver=_Guarded(self), limit=4),
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
        """What a server wants of somebody it does not know. Nothing is read but the head of its answer."""
        assert self._session is not None
        self.check(url)
        accept = {"Accept": "application/json, text/event-stream"}
        try:
            response = await self._session.post(
                URL(url, encoded=True), headers={**headers, **accept}, data=body, allow_redirects=False
            )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise _unreached(error, shown(URL(url))) from error
        response.close()
        wanted = ", ".join(response.headers.getall("WWW-Authenticate", ()))
        return read_challenge(wanted) if response.status in {401, 403} else Challenge()

    def check(self, url: str) -> None:
        """Raise `LoginFailed` unless a person or a request may be sent there."""
        refusal = url_refusal(url, self.reach)
        if refusal:
            raise _refused(url, refusal)


class _Guarded(AbstractResolver):
    """Finds only addresses at which we may knock: a name can be made to mean any of them, at any time."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._inner = ThreadedResolver()

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        found = await self._inner.resolve(host, port, family)
        allowed = [each for each in found if may_connect(each["host"].partition("%")[0], self._fetch.reach)]
        if not allowed:
            raise _refused(f"https://{host}", "its name means an address inside our own network")
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


async def _addresses(host: str) -> list[str]:
    literal = literal_address(host)
    if literal is not None:
        return [literal]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError as error:
        raise _unreached(error, host) from error
    return [str(address[0]).partition("%")[0] for *_, address in found]


def _refused(url: str, refusal: str) -> LoginFailed:
    return LoginFailed(
        f"the login leads to {sample(url.partition('?')[0].encode())}, which is not followed: {refusal}",
        cause="the server, or its login server, is set up wrongly or means us harm",
        fix="ask whoever runs the server",
    )


def _unreached(error: Exception, where: str) -> ConnectFailed:
    slow = isinstance(error, TimeoutError)
    return ConnectFailed(
        f"no answer from {where}, where logins are handled",
        where=where,
        evidence="it took too long" if slow else sample(f"{type(error).__name__}: {error}".encode()),
        fix="try again; if it stays so, ask whoever runs the login server",
    )
