"""Fetching the keys that an identity provider lists, from the one address that the operator named."""

from collections.abc import AsyncIterator

from bascule.core.errors import ConnectFailed
from bascule.identity.oauth.ssrf_guard import Reach, url_refusal

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
                headers={"User-Agent": "bascule", "Accept": "application/json", "Accept-Encoding": "identity"},
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
