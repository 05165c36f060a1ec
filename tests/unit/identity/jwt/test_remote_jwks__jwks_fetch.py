"""Fetching a set of keys, from a server on this machine."""

import asyncio
import json

import pytest

from bascule.core.errors import ConnectFailed
from bascule.identity.jwt.remote_jwks import LONGEST, fetch_key_set
from support.tokens import jwk, listing, rsa_key


async def test_what_lies_at_the_address_is_fetched():
    async with listing(jwk(rsa_key())) as lister:
        assert json.loads(await fetch_key_set(lister.url)) == {"keys": lister.keys}


@pytest.mark.parametrize("status", [204, 301, 302, 307, 404, 500])
async def test_another_status_is_a_failure_and_no_redirect_is_followed(status: int):
    async with listing() as elsewhere, listing() as lister:
        lister.status, lister.headers = status, {"Location": elsewhere.url}
        with pytest.raises(ConnectFailed, match=str(status)):
            await fetch_key_set(lister.url)

        assert (lister.fetches, elsewhere.fetches) == (1, 0)


async def test_an_answer_that_is_too_long_is_not_read_to_its_end():
    async with listing() as lister:
        lister.body = b" " * (LONGEST + 1)
        with pytest.raises(ConnectFailed, match="longer than"):
            await fetch_key_set(lister.url)


async def test_a_compressed_answer_is_not_unpacked():
    async with listing() as lister:
        lister.headers = {"Content-Encoding": "gzip"}
        with pytest.raises(ConnectFailed):
            await fetch_key_set(lister.url)


@pytest.mark.parametrize(
    "url",
    ["http://id.example/jwks", "file:///etc/passwd", "ftp://127.0.0.1/", "https://169.254.169.254/", "https://a:b@c/"],
)
async def test_an_unsafe_address_is_not_used(url: str):
    with pytest.raises(ConnectFailed, match="its address is not used"):
        await fetch_key_set(url)


async def test_nobody_there_is_a_failure():
    with pytest.raises(ConnectFailed, match="no answer"):
        await fetch_key_set("http://127.0.0.1:1/jwks")


async def test_a_server_that_never_answers_is_given_up():
    async def hold(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)

    held: list[asyncio.StreamWriter] = []
    server = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        with pytest.raises(ConnectFailed, match="no answer: TimeoutError"):
            await fetch_key_set(f"http://127.0.0.1:{port}/jwks", timeout=0.05)
    finally:
        for writer in held:
            writer.close()
        server.close()
        await server.wait_closed()
