"""An event stream in chunks between which the loop turns."""

import asyncio

from aiohttp import StreamReader
from aiohttp.base_protocol import BaseProtocol

from bascule.transports.http.server_stream import CHUNK, Chunks


def body(*pieces: bytes) -> StreamReader:
    loop = asyncio.get_running_loop()
    content = StreamReader(BaseProtocol(loop), 2**20, loop=loop)
    for piece in pieces:
        content.feed_data(piece)
    content.feed_eof()
    return content


async def all_of(chunks: Chunks) -> list[bytes]:
    found: list[bytes] = []
    while chunk := await chunks.next():
        found.append(chunk)
    return found


async def test_little_comes_as_it_is():
    assert await all_of(Chunks(body(b"data: x\n\n"))) == [b"data: x\n\n"]


async def test_nothing_is_lost_of_what_comes_at_once():
    sent = bytes(range(256)) * 1000
    found = await all_of(Chunks(body(sent[:100_000], sent[100_000:])))

    assert b"".join(found) == sent
    assert max(map(len, found)) == CHUNK


async def test_an_empty_body_has_no_chunks():
    assert await all_of(Chunks(body())) == []


async def test_the_loop_turns_between_two_chunks():
    turned: list[int] = []
    chunks = Chunks(body(b"x" * (3 * CHUNK)))
    await chunks.next()
    asyncio.get_running_loop().call_soon(turned.append, 1)
    await chunks.next()

    assert turned == [1]
