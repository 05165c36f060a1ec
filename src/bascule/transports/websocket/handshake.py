"""WebSocket handshake: the upgrade request, each response that a server can give to it, and the open connection."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import aiohttp
from aiohttp.hdrs import SEC_WEBSOCKET_EXTENSIONS
from yarl import URL

from bascule.core.errors import ConnectFailed, LoginNeeded, PeerRefused, PermitLost
from bascule.transports.dispatcher import not_opened
from bascule.transports.http.address import REDIRECTS, parse_url, shown, upgrade_headers
from bascule.transports.http.errors import not_connected, told
from bascule.transports.http.response_parser import refusal_of
from bascule.transports.http.sockets import Guarded, Sockets
from bascule.wire.jsonrpc import sample

SUBPROTOCOL = "mcp"
"""Offered, not demanded: most servers name no subprotocol at all."""

REFUSAL_MOST = 64 * 1024
"""Bytes of a refusal that are read. It is only shown."""

LAST_MOMENT = 0.25
"""Seconds that the last clearing up of a closed connection may take."""

Frames = aiohttp.ClientWebSocketResponse[Literal[False]]
"""Where messages and control frames come out, texts as the bytes they came in."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open WebSocket. aiohttp reads it; we write to its transport, so as to know the very step in which bytes go."""

    frames: Frames
    transport: asyncio.Transport
    response: aiohttp.ClientResponse
    session: aiohttp.ClientSession

    async def close(self) -> None:
        """Let go of the socket, whatever is still in it."""
        self.transport.abort()
        self.response.close()
        await _close(self.session)


async def open_websocket(
    url: URL, headers: Mapping[str, str], max_message: int, limit: float, sockets: Sockets
) -> Opened:
    """Connect and ask, within `limit` seconds. Raises `ConnectFailed`."""
    handshake = _Handshake(url)
    session = aiohttp.ClientSession(
        # Nothing is shared with other links: no cookies, no proxy, no pool.
        connector=sockets.connector(limit=0, force_close=True),
        cookie_jar=aiohttp.DummyCookieJar(),
        headers=upgrade_headers(headers),
        timeout=aiohttp.ClientTimeout(total=None),
        auto_decompress=False,
        trust_env=False,
        middlewares=(handshake,),
    )
    try:
        async with asyncio.timeout(limit):
            return await _opened(url, session, handshake, max_message)
    except BaseException as error:
        await _close(session)
        if isinstance(error, TimeoutError | aiohttp.ClientError | OSError):
            raise _failure(error, shown(url), limit) from error
        if isinstance(error, PermitLost):
            raise not_opened(error) from error
        raise


async def _opened(url: URL, session: aiohttp.ClientSession, handshake: "_Handshake", max_message: int) -> Opened:
    frames = await session.ws_connect(
        url,
        protocols=(SUBPROTOCOL,),
        # Pings are answered, and closing is done, by ourselves: aiohttp would answer each ping of a flood, in one step.
        autoping=False,
        autoclose=False,
        # A few compressed bytes can unfold to gigabytes, so none are asked for and none are taken.
        compress=0,
        # A frame that says it is longer is refused by its header. aiohttp takes messages shorter than this.
        max_msg_size=max_message + 1,
        decode_text=False,
    )
    response = handshake.response
    assert response is not None
    transport = response.connection.transport if response.connection is not None else None
    if transport is None:
        response.close()
        raise aiohttp.ServerDisconnectedError
    # What we write is asked for by ourselves; what aiohttp writes, by its own transport.
    ours = transport.inner if isinstance(transport, Guarded) else transport
    return Opened(frames, ours, response, session)


class _Handshake:
    """Sees the answer before aiohttp does, which would follow a redirect, and of a refusal tell the status alone."""

    def __init__(self, url: URL) -> None:
        self.response: aiohttp.ClientResponse | None = None
        self._where = shown(url)

    async def __call__(
        self, request: aiohttp.ClientRequest, handler: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        response = await handler(request)
        if response.status != 101:
            try:
                raise await self._refusal(response)
            finally:
                response.close()
        extensions = response.headers.get(SEC_WEBSOCKET_EXTENSIONS)
        if extensions:
            response.close()
            raise ConnectFailed(
                f"{self._where} insists on an extension of the protocol that was not asked for",
                where=self._where,
                evidence=f"{SEC_WEBSOCKET_EXTENSIONS}: {sample(extensions.encode())}",
                fix="switch compression of WebSocket messages off at the server, or at the proxy before it",
            )
        self.response = response
        return response

    async def _refusal(self, response: aiohttp.ClientResponse) -> ConnectFailed:
        status = response.status
        if status in REDIRECTS:
            return self._redirected(status, response.headers.get("Location", ""))
        error = await refusal_of(
            response, REFUSAL_MOST, "connect", response.request_info.headers.get("Authorization", "")
        )
        if isinstance(error, LoginNeeded):
            error.where = self._where
            return error
        said = f", {error.evidence or error.message}" if isinstance(error, PeerRefused) else ""
        return ConnectFailed(
            f"{self._where} opened no WebSocket: the server answered HTTP {status}",
            where=self._where,
            evidence=f"HTTP {status}{said}",
            fix="check the path of the URL, and that this server speaks MCP over a WebSocket",
        )

    def _redirected(self, status: int, location: str) -> ConnectFailed:
        # Following it would show our headers to whoever the answer names.
        return ConnectFailed(
            f"{self._where} redirects, and the redirect was not followed",
            where=self._where,
            evidence=f"HTTP {status}, Location: {sample(location.partition('?')[0].encode())}",
            fix="if that is the server you mean, give its address as the URL",
        )


def websocket_url(text: str) -> URL:
    return parse_url(text, ("ws", "wss"))


def _failure(error: TimeoutError | aiohttp.ClientError | OSError, where: str, limit: float) -> ConnectFailed:
    match error:
        case aiohttp.ClientConnectorError() | aiohttp.InvalidURL():
            return not_connected(error, where)
        case TimeoutError():
            return ConnectFailed(
                f"{where} opened no WebSocket within {limit:g} s",
                where=where,
                cause="the server is down or does not answer, or a firewall drops what we send",
                fix="check the URL, or raise timeouts.connect",
            )
        case aiohttp.ClientResponseError():
            return ConnectFailed(
                f"{where} does not speak WebSocket",
                where=where,
                evidence=sample(error.message.encode()),
                fix="check scheme, host and port of the URL",
            )
        case _:
            return ConnectFailed(
                f"the connection to {where} ended before the WebSocket was open", where=where, evidence=told(error)
            )


async def _close(session: aiohttp.ClientSession) -> None:
    # aiohttp closes its sockets before it waits for anything, so none stays open even if this takes too long.
    closing = asyncio.ensure_future(session.close())
    await asyncio.wait((closing,), timeout=LAST_MOMENT)
    closing.cancel()
