"""Remote JWKS of an identity provider: fetched on demand from the one configured address, cached, and rate limited."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

from bascule.core.errors import ConnectFailed, NotIdentified
from bascule.identity.jwt.keys import Key, read_key_set
from bascule.identity.oauth.ssrf_guard import Reach, url_refusal
from bascule.wire.upstream_headers import UPSTREAM_HEADERS

_log = logging.getLogger("bascule.identity")

FRESH = 300.0
"""Seconds after which the set is fetched again: a key that was taken out of it is believed no longer than this."""

PAUSE = 10.0
"""Seconds between two fetches, at least. Tokens that name unknown keys cost their sender nothing; they must not make
us knock at the provider's door once for each."""

KEPT = 3600.0
"""Seconds for which known keys are used while the provider cannot be reached. After that nobody is let in."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A set of keys, and when it was fetched."""

    keys: tuple[Key, ...] = ()
    at: float = float("-inf")


class RemoteKeys:
    """The keys at one address. Of many who need them at once, one fetches."""

    def __init__(
        self,
        fetch: Callable[[], Awaitable[bytes]],
        algorithms: tuple[str, ...],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch = fetch
        self.algorithms = algorithms
        self._clock = clock
        self._listed = Listed()
        self._tried = float("-inf")
        self.trouble = ""
        """Why the last fetch failed, for whoever runs the server; empty if it did not."""
        self._flight: asyncio.Task[None] | None = None

    async def find(self, algorithm: str, kid: str | None) -> tuple[Key, ...]:
        """The keys that a token with this algorithm and key id may have been signed with. Raises `NotIdentified` if
        the set has not been seen for too long."""
        if self._clock() - self._listed.at > FRESH:
            await self._refresh()
        found = self._among(algorithm, kid)
        if not found and kid is not None:
            # It may have been added since.
            await self._refresh()
            found = self._among(algorithm, kid)
        if self._clock() - self._listed.at > KEPT:
            raise NotIdentified(
                "no token can be verified: the identity provider's keys cannot be fetched",
                rule="keys_known",
                fix="try again later",
            )
        return found

    async def aclose(self) -> None:
        if self._flight is not None:
            self._flight.cancel()
            await asyncio.wait((self._flight,))

    def _among(self, algorithm: str, kid: str | None) -> tuple[Key, ...]:
        fitting = tuple(key for key in self._listed.keys if key.algorithm == algorithm)
        if kid is not None:
            return tuple(key for key in fitting if key.kid == kid)
        # A token that names no key means the only one; among several it would be tried with each.
        return fitting if len(fitting) == 1 else ()

    async def _refresh(self) -> None:
        if self._flight is None:
            if self._clock() - self._tried < PAUSE:
                return
            self._flight = asyncio.create_task(self._fly())
        # Whoever gives up waiting must not end it for the others.
        await asyncio.shield(self._flight)

    async def _fly(self) -> None:
        try:
            keys = read_key_set(await self._fetch(), self.algorithms)
            self._listed = Listed(keys, self._clock())
            self.trouble = ""
        except (ConnectFailed, ValueError) as error:
            # The last good set stays in use for `KEPT` seconds, whether the fetch failed or brought a bad set.
            if str(error) != self.trouble:
                _log.warning("the JWKS of the identity provider is not taken: %s", error)
            self.trouble = str(error)
        finally:
            self._tried = self._clock()
            self._flight = None


LONGEST = 256 * 1024
"""Bytes. Sets of keys take a few thousand."""

TIMEOUT = 5.0
"""Seconds for the whole answer, whatever trickles in: requests wait for it."""


async def fetch_key_set(url: str, timeout: float = TIMEOUT) -> bytes:
    """What lies at the address. Raises `ConnectFailed` for anything but a short, plain answer from there."""
    import aiohttp  # noqa: PLC0415 -- slow to import

    refusal = url_refusal(url, Reach.LOOPBACK)
    if refusal:
        raise _failed(f"its address is not used: {refusal}")
    try:
        async with (
            aiohttp.ClientSession(
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={**UPSTREAM_HEADERS, "Accept": "application/json", "Accept-Encoding": "identity"},
                timeout=aiohttp.ClientTimeout(total=timeout),
                auto_decompress=False,
                trust_env=False,
            ) as session,
            session.get(url, allow_redirects=False) as response,
        ):
            # A redirect is not followed either: whoever can make one could name a set of keys of their own.
            if response.status != 200 or response.headers.get("Content-Encoding", "identity") != "identity":
                raise _failed(f"it answers with the status {response.status}")
            return await _whole(response.content.iter_any())
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        raise _failed(f"no answer: {type(error).__name__}") from error


async def _whole(chunks: AsyncIterator[bytes]) -> bytes:
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > LONGEST:
            raise _failed(f"it is longer than {LONGEST} bytes")
    return bytes(data)


def _failed(why: str) -> ConnectFailed:
    return ConnectFailed(
        f"the set of keys cannot be fetched: {why}",
        cause="the identity provider is down, or the address under `jwks` is wrong",
        fix="open the address under `jwks` in a browser: it must show JSON that begins with `keys`",
    )
