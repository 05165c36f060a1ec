"""Forwarder: sends a request over HTTP to the gateway that owns its agent session, and streams the response back."""

import asyncio
import errno
import logging
import ssl
from collections.abc import Iterable

import aiohttp
import msgspec
from multidict import CIMultiDict

from bascule.gateway.cluster.address import InnerAddress
from bascule.gateway.cluster.membership import Membership
from bascule.gateway.http.body import Bulk
from bascule.gateway.mcp.exchange import Send
from bascule.store.owners import Member
from bascule.transports.http.errors import tls_reason, tls_told

_log = logging.getLogger("bascule.gateway")

PATH = "/"

PASS = "bascule-pass"  # noqa: S105 -- the name of a header
RELAYED = "bascule-relayed"
MOVED = "bascule-moved"
"""In an answer: nothing was done, since the agent session is not served there but by the member that is named."""
BROKEN = "bascule-broken"
"""In an answer: whoever was asked has not answered, and may have done something."""

CONNECT = 2.0
"""Seconds to reach another worker."""

IDLE = 15.0
"""Seconds for which a connection is kept. Far shorter than at its other end: what is sent on one that is just being
closed there is lost, and nobody knows whether it was heard."""

CARRIED = frozenset({b"content-type", b"accept", b"last-event-id", b"traceparent", b"tracestate", b"baggage"})
"""Of a client's headers, beside those of the protocol. Its token is not among them."""

RETURNED = frozenset({"content-type", "cache-control", "x-accel-buffering", "retry-after", "allow", "mcp-session-id"})

ENDINGS = (b"\r\n\r\n", b"\n\n")
"""How an event ends."""

MOST_TOLD = 100
"""Words about gateways that are not talked to. More say nothing new."""

GONE = frozenset({errno.ECONNREFUSED, errno.ENOENT})


class Moved(Exception):
    """The agent session is not served there, and nothing was done. `to` is who serves it, if that was known there."""

    def __init__(self, to: str) -> None:
        super().__init__("the agent session is not served there")
        self.to = to


class Unreachable(Exception):
    """Nothing was sent. `gone` says that the process of that member has ended."""

    def __init__(self, words: str, *, gone: bool) -> None:
        super().__init__(words)
        self.gone = gone


class Broken(Exception):
    """Something was sent, and the answer did not come, or not whole. `begun` says that a part of it was passed on."""

    def __init__(self, words: str, *, begun: bool) -> None:
        super().__init__(words)
        self.begun = begun


class Letter(msgspec.Struct, frozen=True):
    """A request on its way."""

    method: str
    headers: list[tuple[str, str]]
    body: bytes | bytearray
    bulk: Bulk | None = None
    """What the body has of the room for large ones."""
    path: str = PATH


def carried(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]] | None:
    """Those that go along, also what came twice. None where one is no text."""
    try:
        return [
            (name.decode("ascii"), value.decode())
            for name, value in headers
            if name in CARRIED or name.startswith(b"mcp-")
        ]
    except UnicodeDecodeError:
        return None


class Relay:
    """The ways to all other members."""

    def __init__(self, membership: Membership, own: InnerAddress, tls: ssl.SSLContext | None = None) -> None:
        """With `tls`, nothing is sent to another machine without it."""
        self._membership = membership
        self._own = own
        self._tls = tls
        self._told: set[tuple[str, str]] = set()
        """Of which gateways it was said that they are not talked to, and why."""
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    async def close(self) -> None:
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    async def carry(self, letter: Letter, member: Member, send: Send) -> None:
        """Raises `Moved`, `Unreachable` or `Broken`. Whoever gives up takes the request back there as well."""
        address = InnerAddress.read(member.address)
        beside = self._own.is_beside(address)
        begun = False

        async def passing(event: dict[str, object]) -> None:
            nonlocal begun
            begun = True
            await send(event)

        try:
            async with asyncio.timeout(None) as limit:
                with self._membership.relying_on(member, limit):
                    await self._exchange(letter, address, passing, beside=beside)
        except aiohttp.ClientSSLError as error:
            words = f"{tls_reason(error)[0]}: {tls_told(error)}"
            self._say_once(address.url, words)
            raise Unreachable(words, gone=False) from error
        except aiohttp.ClientConnectorError as error:
            raise Unreachable(str(error), gone=beside and error.os_error.errno in GONE) from error
        except (aiohttp.ConnectionTimeoutError, aiohttp.InvalidURL) as error:
            if isinstance(error, _OtherScheme):
                self._say_once(address.url, str(error))
            raise Unreachable(str(error) or "it does not answer", gone=False) from error
        except (aiohttp.ClientError, TimeoutError) as error:
            raise Broken(str(error) or "it has ended", begun=begun) from error

    async def _exchange(self, letter: Letter, address: InnerAddress, send: Send, *, beside: bool) -> None:
        session, origin = self._way(address, beside=beside)
        asking = session.request(
            letter.method,
            f"{origin}{letter.path}",
            headers=CIMultiDict(letter.headers),
            data=letter.body,
            allow_redirects=False,
        )
        async with asking as answer:
            if MOVED in answer.headers:
                raise Moved(answer.headers[MOVED])
            if BROKEN in answer.headers:
                raise Broken("a worker of that machine has ended", begun=False)
            kept = [(name, value) for name, value in answer.headers.items() if name.lower() in RETURNED]
            headers = [(name.lower().encode(), value.encode()) for name, value in kept]
            if answer.content_type == "text/event-stream":
                if letter.bulk is not None:
                    # The client may be asked something there, and answer through us.
                    letter.bulk.set_aside()
                await send({"type": "http.response.start", "status": answer.status, "headers": headers})
                return await _pass_events(answer.content, send)
            # All of it, before any of it is passed on: else what is cut off could not be told as such.
            body = await answer.read()
            headers.append((b"content-length", str(len(body)).encode()))
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            return await send({"type": "http.response.body", "body": body})

    def _way(self, address: InnerAddress, *, beside: bool) -> tuple[aiohttp.ClientSession, str]:
        if not beside and not address.url:
            raise aiohttp.InvalidURL("a worker on another machine has told nobody where it is: see --internal-url")
        if not beside and (self._tls is not None) != address.url.startswith("https:"):
            raise _OtherScheme("only one of the two has an --internal-url with https://")
        key = address.path if beside else address.url
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = _session(address.path if beside else None, self._tls)
        return session, "http://worker" if beside else address.url.rstrip("/")

    def _say_once(self, url: str, words: str) -> None:
        """Each request for it would lead to the same."""
        if (url, words) not in self._told and len(self._told) < MOST_TOLD:
            self._told.add((url, words))
            _log.warning(
                "the gateway at %s is not talked to, and nothing was sent to it: %s; give all of them https:// in "
                "--internal-url, and certificates that one --internal-ca has signed for the hosts there",
                url,
                words,
            )


class _OtherScheme(aiohttp.InvalidURL):
    """What is said in the clear by one is not for one who speaks TLS, nor the other way round."""


async def _pass_events(content: aiohttp.StreamReader, send: Send) -> None:
    """Each as soon as it is whole: of one that was cut off, nobody should take the half for all of it."""
    held = bytearray()
    async for piece in content.iter_any():
        held += piece
        end = max(held.rfind(ending) + len(ending) if ending in held else 0 for ending in ENDINGS)
        if end:
            await send({"type": "http.response.body", "body": bytes(held[:end]), "more_body": True})
            del held[:end]
    await send({"type": "http.response.body", "body": bytes(held)})


def _session(path: str | None, tls: ssl.SSLContext | None) -> aiohttp.ClientSession:
    connector = (
        aiohttp.TCPConnector(limit=0, keepalive_timeout=IDLE, ssl=True if tls is None else tls)
        if path is None
        else aiohttp.UnixConnector(path, limit=0, keepalive_timeout=IDLE)
    )
    return aiohttp.ClientSession(
        connector=connector,
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT, connect=None),
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=False,
        # A progress message may be long.
        read_bufsize=2**20,
        trust_env=False,
    )
