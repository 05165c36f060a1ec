"""The conversation over one WebSocket, with servers of the `websockets` library and with raw ones."""

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from bascule.core.errors import ConnectFailed, ConnectionLost, PermitLost, ProtocolViolation, ReplyTimeout
from bascule.transports.jsonrpc import GARBAGE_LIMIT
from bascule.wire.websocket_frames import client_frame
from support.http_servers import Asked, raw_server
from support.streams import Leave, a_request
from support.waiting import fail_after
from support.ws_links import LONG, a_dispatcher, ws_link
from support.ws_servers import accepting, frame, switched, ws_server

PING, PONG, CLOSE, BINARY, CONTINUATION = 0x9, 0xA, 0x8, 0x2, 0x0

SAID = frame(b'{"method":"said"}')

BULK = {"text": "x" * 400_000}
"""More than the buffers of a socket on this machine hold, several times over."""


def reply(request_id: Any, **result: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "result": result})


async def echo(connection: ServerConnection) -> None:
    async for text in connection:
        message = json.loads(text)
        if "id" in message:
            await connection.send(reply(message["id"], method=message["method"], params=message.get("params")))


def saying(*data: bytes) -> Any:
    """A raw server that accepts, says this, and reads nothing."""

    async def then(writer: asyncio.StreamWriter) -> None:
        for each in data:
            writer.write(each)
            await writer.drain()

    return raw_server(accepting(then))


async def lost_to(*data: bytes, max_message: int = 1000) -> Any:
    """What ends a link on which a server says this."""
    async with saying(*data) as server, ws_link(server.url, max_message=max_message, grace=0.1) as link:
        return await link.lost


# Messages


async def test_each_message_is_a_text_frame_of_its_own():
    frames: list[Any] = []

    async def talk(connection: ServerConnection) -> None:
        async for text in connection:
            frames.append(text)
            await connection.send(reply(json.loads(text)["id"]))

    async with ws_server(talk) as url, ws_link(url) as link:
        await asyncio.gather(*(link.send(a_request(f"m{number}")) for number in range(20)))

    assert [json.loads(text)["method"] for text in frames] == [f"m{number}" for number in range(20)]
    assert {type(text) for text in frames} == {str}
    assert not any("\n" in text for text in frames)


async def test_a_message_in_fragments_and_a_binary_one_are_messages():
    text = reply(1, ok=True).encode()
    pieces = [frame(text[:10], fin=False), frame(b"", CONTINUATION, fin=False), frame(text[10:], CONTINUATION)]

    heard: asyncio.Queue[str] = asyncio.Queue()

    async with (
        saying(b"".join(pieces), frame(reply(2, ok=True).encode(), BINARY), SAID) as server,
        ws_link(server.url, grace=0.1, heard=heard) as link,
    ):
        assert await heard.get() == "said"
        assert (link.counters.garbage, link.counters.strays) == (0, 2)


async def test_a_message_of_exactly_the_cap_is_heard_and_a_longer_one_ends_the_link():
    fits = b'{"method":"fits"' + b" " * 983 + b"}"
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with saying(frame(fits)) as server, ws_link(server.url, max_message=1000, grace=0.1, heard=heard):
        assert await heard.get() == "fits"

    lost = await lost_to(frame(fits + b" "))
    assert isinstance(lost, ProtocolViolation)
    assert "longer than 1000 bytes" in lost.message
    assert "messages.max" in lost.fix


@pytest.mark.parametrize(
    "data",
    [
        b"\x81\x7f" + (1 << 30).to_bytes(8),
        b"\x81\x7f" + (1 << 63).to_bytes(8),
        frame(b"x" * 600, fin=False) + b"\x80\x7e" + (600).to_bytes(2),
    ],
    ids=["a gigabyte", "more than there is", "in fragments"],
)
async def test_a_message_is_refused_by_the_length_it_announces(data: bytes):
    lost = await lost_to(data)

    assert isinstance(lost, ProtocolViolation)
    assert "longer than 1000 bytes" in lost.message


@pytest.mark.parametrize(
    "data",
    [
        frame(b"x", bits=0x40),
        frame(b"x", bits=0x20),
        frame(b"x", 0x3),
        frame(b"x", CONTINUATION),
        frame(b"x", fin=False) + frame(b"y"),
        frame(b"x" * 126, PING),
        frame(b"", PING, fin=False),
        frame(b"\x00", CLOSE),
    ],
    ids=["compressed", "reserved bit", "unknown kind", "no beginning", "no end", "long ping", "half a ping", "bad close"],
)  # fmt: skip
async def test_frames_the_protocol_does_not_allow_end_the_link(data: bytes):
    lost = await lost_to(data)

    assert isinstance(lost, ProtocolViolation)
    assert "broke the WebSocket protocol" in lost.message
    assert lost.evidence


async def test_garbage_is_counted_and_a_stream_of_it_ends_the_link():
    heard: asyncio.Queue[str] = asyncio.Queue()
    async with (
        saying(frame(b"hello\xff") * (GARBAGE_LIMIT - 1), SAID) as server,
        ws_link(server.url, grace=0.1, heard=heard) as link,
    ):
        assert await heard.get() == "said"
        assert link.counters.garbage == GARBAGE_LIMIT - 1
        assert not link.lost.done()

    lost = await lost_to(frame(b"hello") * GARBAGE_LIMIT)
    assert isinstance(lost, ProtocolViolation)
    assert "could not be read" in lost.message
    assert "stdout" not in lost.cause


# Writing


async def test_without_a_permit_nothing_is_written():
    leave = Leave()
    leave.given = False
    async with ws_server(echo) as url, ws_link(url) as link:
        with pytest.raises(PermitLost):
            await link.send(a_request(permit=leave))
        assert (await link.send(a_request("allowed")))["method"] == "allowed"


async def stuffed(link: Any) -> list["asyncio.Task[Any]"]:
    """Send to a server that does not read, until its socket takes no more."""
    calls: list[asyncio.Task[Any]] = []
    async with fail_after(LONG, "the filling of a socket"):
        while not link._outbox.paused:
            calls.append(asyncio.create_task(link.send(a_request(params=BULK))))
            await asyncio.sleep(0)
    return calls


async def test_while_the_server_does_not_read_nothing_more_is_handed_over_and_permits_are_asked_later():
    leave = Leave()
    async with saying() as server, ws_link(server.url, grace=0.1) as link:
        calls = await stuffed(link)
        assert link._opened is not None
        held = link._opened.transport.get_write_buffer_size()
        waiting = asyncio.create_task(link.send(a_request(params=BULK, permit=leave)))
        await asyncio.sleep(0)
        assert link._opened.transport.get_write_buffer_size() == held
        leave.given = False
        link.resume_output()  # as the transport does when its buffer is empty
        with pytest.raises(PermitLost):
            await waiting
        await link.close(0.1)
        for call in calls:
            with pytest.raises(ConnectionLost) as lost:
                await call
            assert lost.value.sent


async def test_a_server_that_reads_on_gets_the_rest():
    reading = asyncio.Event()

    async def late(connection: ServerConnection) -> None:
        await reading.wait()
        await echo(connection)

    async with ws_server(late, max_queue=1) as url, ws_link(url) as link:
        calls = await stuffed(link)
        calls.append(asyncio.create_task(link.send(a_request("last"))))
        await asyncio.sleep(0)
        reading.set()
        assert (await asyncio.gather(*calls))[-1]["method"] == "last"
        assert link._outbox is not None
        assert not link._outbox.paused


async def test_a_deadline_is_kept_and_the_server_is_told():
    heard: asyncio.Queue[Any] = asyncio.Queue()

    async def talk(connection: ServerConnection) -> None:
        async for text in connection:
            heard.put_nowait(json.loads(text))

    async with ws_server(talk) as url, ws_link(url) as link:
        with pytest.raises(ReplyTimeout):
            await link.send(a_request(timeout=0.05))
        assert (await heard.get())["method"] == "tools/call"
        assert (await heard.get())["method"] == "notifications/cancelled"


# Pings


async def test_a_ping_is_answered_with_its_own_bytes():
    async def talk(connection: ServerConnection) -> None:
        await (await connection.ping(b"are you there"))
        await connection.send('{"method":"answered"}')

    heard: asyncio.Queue[str] = asyncio.Queue()
    async with ws_server(talk) as url, ws_link(url, heard=heard):
        assert await heard.get() == "answered"


async def test_of_a_flood_of_pings_only_the_last_is_answered_each_time_and_others_have_their_turn():
    async def flood(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(frame(b"", PING) * 30_000)
            await writer.drain()

    async with raw_server(accepting(flood)) as server, ws_link(server.url, grace=0.1) as link:
        turns = 0
        sending = asyncio.create_task(link.send(a_request(timeout=0.2)))
        while not sending.done():
            await asyncio.sleep(0)
            turns += 1
        with pytest.raises(ReplyTimeout):
            await sending
        assert turns > 10
        assert not link.lost.done()
        # That server reads nothing: the answers it got are in the buffers of the socket, and they are few.
        assert link._opened is not None
        assert link._opened.transport.get_write_buffer_size() < 100_000


async def test_while_the_server_does_not_read_its_pings_wait_and_the_last_is_answered_later():
    full = asyncio.Event()

    async def ping(writer: asyncio.StreamWriter) -> None:
        await full.wait()
        writer.write(frame(b"first", PING) + frame(b"last", PING) + SAID)

    heard: asyncio.Queue[str] = asyncio.Queue()
    async with raw_server(accepting(ping)) as server, ws_link(server.url, grace=0.1, heard=heard) as link:
        calls = await stuffed(link)
        assert link._opened is not None
        held = link._opened.transport.get_write_buffer_size()
        full.set()
        assert await heard.get() == "said"
        assert link._opened.transport.get_write_buffer_size() == held
        link.resume_output()  # as the transport does when its buffer is empty
        assert link._opened.transport.get_write_buffer_size() == held + len(client_frame(0xA, b"last", b"mask"))
        await link.close(0.1)
        await asyncio.gather(*calls, return_exceptions=True)


# The end


async def test_a_server_that_closes_says_why():
    async def talk(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.close(1011, "out of tea\x1b[31m")

    async with ws_server(talk) as url, ws_link(url) as link:
        with pytest.raises(ConnectionLost) as lost:
            await link.send(a_request())
        assert lost.value.sent
        assert lost.value.message == "the server closed the connection: out of tea\\x1b[31m"
        assert lost.value.evidence == "close code 1011"
        with pytest.raises(ConnectionLost) as after:
            await link.send(a_request())
        assert not after.value.sent


async def test_a_close_without_a_code_is_a_close():
    lost = await lost_to(frame(b"", CLOSE))

    assert isinstance(lost, ConnectionLost)
    assert lost.evidence == "close without a code"


async def test_an_end_without_a_closing_frame_is_told_as_that():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(switched(asked) + b"\x81\x7e")
        await writer.drain()
        writer.transport.abort()

    async with raw_server(answer) as server, ws_link(server.url) as link:
        assert "ended without a closing frame" in (await link.lost).message


async def test_closing_sends_a_closing_frame():
    ended: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()

    async def talk(connection: ServerConnection) -> None:
        await connection.wait_closed()
        ended.set_result(connection.close_code)

    async with ws_server(talk) as url, ws_link(url):
        pass
    async with fail_after(LONG):
        assert await ended == 1000


async def test_closing_ends_in_time_though_the_server_says_nothing_to_it():
    async with saying() as server:
        dispatcher = a_dispatcher(server.url)
        async with fail_after(LONG, "closing"):
            await dispatcher.open()
            await asyncio.gather(dispatcher.close(0.05), dispatcher.close(0.05))
        assert dispatcher._opened is not None
        assert dispatcher._opened.session.closed
        assert dispatcher._opened.transport.is_closing()


async def test_closing_ends_in_time_though_the_server_reads_nothing():
    async with saying() as server, ws_link(server.url, grace=0.05) as link:
        calls = await stuffed(link)
        async with fail_after(LONG, "closing"):
            await link.close(0.05)
        # What it would not take is let go of, and the socket with it.
        assert link._opened is not None
        assert link._opened.transport.get_write_buffer_size() == 0
        assert {type(error) for error in await asyncio.gather(*calls, return_exceptions=True)} == {ConnectionLost}


async def test_closing_ends_in_time_though_the_server_talks_on():
    async def talk_on(writer: asyncio.StreamWriter) -> None:
        while True:
            writer.write(frame(b'{"method":"more"}') * 1000)
            await writer.drain()

    async with raw_server(accepting(talk_on)) as server, ws_link(server.url) as link, fail_after(LONG, "closing"):
        await link.close(0.1)


async def test_closing_while_opening_ends_the_opening():
    async def silent(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.get_running_loop().create_future()

    async with fail_after(LONG), raw_server(silent) as server:
        dispatcher = a_dispatcher(server.url)
        opening = asyncio.create_task(dispatcher.open())
        await server.next()
        await dispatcher.close(1.0)
        with pytest.raises(ConnectFailed, match="closed while it was opened"):
            await opening


async def test_a_caller_who_stops_opening_is_cancelled():
    async def silent(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.get_running_loop().create_future()

    async with fail_after(LONG), raw_server(silent) as server:
        dispatcher = a_dispatcher(server.url)
        opening = asyncio.create_task(dispatcher.open())
        await server.next()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        await dispatcher.close(1.0)


async def test_what_was_closed_cannot_be_opened():
    dispatcher = a_dispatcher("ws://127.0.0.1:1/")
    await dispatcher.close(1.0)

    with pytest.raises(ConnectFailed, match="before it was opened"):
        await dispatcher.open()
    assert dispatcher.evidence() == ""
