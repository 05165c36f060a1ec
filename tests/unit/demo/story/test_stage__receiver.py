"""Somebody to whom things can be sent."""

import asyncio
import socket
import struct

from bascule.demo.story.stage import MOST, THANKS, receiving
from support.waiting import fail_after, until


def where(address: str) -> tuple[str, int]:
    host, _, port = address.rpartition(":")
    return host, int(port)


async def test_it_is_on_the_loopback_and_takes_what_comes():
    async with fail_after(20), receiving() as receiver:
        for words in (b"one", b"two"):
            reader, writer = await asyncio.open_connection(*where(receiver.address))
            writer.write(words)
            writer.write_eof()
            assert await reader.read() == THANKS
            writer.close()

        assert receiver.address.startswith("127.0.0.1:")
        assert receiver.messages == [b"one", b"two"]


async def test_of_a_long_message_the_beginning_is_kept():
    async with fail_after(20), receiving() as receiver:
        reader, writer = await asyncio.open_connection(*where(receiver.address))
        writer.write(b"x" * (3 * MOST))
        writer.write_eof()
        await reader.read()
        writer.close()

        assert [len(message) for message in receiver.messages] == [MOST]


async def test_who_hangs_up_in_the_middle_harms_nobody():
    async with fail_after(20), receiving() as receiver:
        with socket.create_connection(where(receiver.address)) as line:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        reader, writer = await asyncio.open_connection(*where(receiver.address))
        writer.write(b"after")
        writer.write_eof()
        assert await reader.read() == THANKS
        writer.close()

        await until(lambda: b"after" in receiver.messages)


async def test_when_it_is_closed_nobody_listens_there():
    async with receiving() as receiver:
        pass

    with socket.socket() as line:
        assert line.connect_ex(where(receiver.address)) != 0
