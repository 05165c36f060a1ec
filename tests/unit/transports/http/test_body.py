import asyncio

import pytest
from aiohttp import ClientConnectionResetError
from aiohttp.abc import AbstractStreamWriter

from bascule.core.errors import ConnectionLost, PermitLost
from bascule.transports.http.body import PIECE, Body
from bascule.transports.http.post_state import Exchange
from support.http_links import LONG, Leave, ask, http_link, old_link
from support.http_servers import Asked, event, http_reply, raw_server, result_body, stream_head
from support.waiting import fail_after


class Transport(asyncio.WriteTransport):
    aborted = False

    def abort(self) -> None:
        self.aborted = True


class Writer(AbstractStreamWriter):
    """Where aiohttp would hand bytes over. It can be closed, or full."""

    def __init__(self, *, closed: bool = False, full: bool = False) -> None:
        self.got: list[bytes] = []
        self._closed = closed
        self._full = full
        self._transport = Transport()

    @property
    def transport(self) -> Transport:
        return self._transport

    async def write(self, chunk: bytes | bytearray | memoryview) -> None:
        if self._closed:
            raise ClientConnectionResetError("Cannot write to closing transport")
        self.got.append(bytes(chunk))

    async def drain(self) -> None:
        if self._full:
            await asyncio.Event().wait()

    async def write_eof(self, chunk: bytes = b"") -> None: ...

    def enable_compression(self, encoding: str = "deflate", strategy: int | None = None) -> None: ...

    def enable_chunking(self) -> None: ...

    async def write_headers(self, status_line: str, headers: object) -> None: ...


def exchange(permit: Leave | None = None) -> Exchange:
    subject = Exchange(ask(permit=permit), 1, LONG, lambda _: None)
    subject.begin()
    return subject


async def test_a_body_is_handed_over_whole():
    subject, writer = exchange(), Writer()
    body = Body(b'{"a": 1}', subject)
    await body.write(writer)

    assert writer.got == [b'{"a": 1}']
    assert subject.handed_over
    assert body.size == 8
    assert body.decode() == '{"a": 1}'
    subject.end()


async def test_nothing_is_handed_over_without_leave():
    subject, writer = exchange(Leave(False)), Writer()

    with pytest.raises(PermitLost):
        await Body(b"x", subject).write(writer)

    assert writer.got == []
    assert not subject.handed_over
    subject.end()


async def test_a_long_body_asks_again_before_each_piece():
    leave = Leave(True, True, False)
    subject, writer = exchange(leave), Writer()

    with pytest.raises(PermitLost):
        await Body(b"x" * (PIECE * 3), subject).write(writer)

    assert [len(piece) for piece in writer.got] == [PIECE, PIECE]
    assert leave.asked == 3
    assert writer.transport.aborted
    assert subject.handed_over
    subject.end()


async def test_without_leave_for_the_whole_link_nothing_counts_as_handed_over():
    class Barred(Writer):
        async def write(self, chunk: bytes | bytearray | memoryview) -> None:
            raise PermitLost("nothing may be written")

    for size in (1, PIECE * 2):
        subject = exchange()
        with pytest.raises(PermitLost):
            await Body(b"x" * size, subject).write(Barred())
        assert (subject.handed_over, subject.refused) == (False, True)
        subject.end()


async def test_it_is_known_on_which_socket_a_body_is_until_it_was_answered():
    subject, writer = exchange(), Writer()
    body = Body(b"x", subject)
    await body.write(writer)
    assert subject.transport is writer.transport
    body.let_go()
    assert subject.transport is None
    subject.end()


async def test_a_connection_that_had_ended_before_the_write_means_not_sent():
    subject = exchange()

    with pytest.raises(ClientConnectionResetError):
        await Body(b"x", subject).write(Writer(closed=True))

    assert not subject.handed_over
    subject.end()


async def test_a_long_body_given_up_halfway_drops_what_is_still_buffered():
    subject, writer = exchange(), Writer(full=True)
    writing = asyncio.create_task(Body(b"x" * (PIECE * 2), subject).write(writer))
    await asyncio.sleep(0)
    writing.cancel()

    with pytest.raises(asyncio.CancelledError):
        await writing

    assert len(writer.got) == 1
    assert writer.transport.aborted
    subject.end()


async def echo(asked: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(http_reply(result_body(asked.message.get("id"), {"length": len(asked.body)})))


async def old_echo(asked: Asked, writer: asyncio.StreamWriter) -> None:
    if asked.method == "POST":
        writer.write(
            http_reply(result_body(asked.message.get("id"), {"protocolVersion": "2025-11-25"}), Connection="close")
        )
    else:
        writer.write(http_reply(status="405 Not Allowed", Connection="close"))


async def test_without_leave_not_even_headers_reach_the_server():
    seen: list[bytes] = []

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await reader.read())
        writer.close()
        done.set()

    done = asyncio.Event()
    listener = await asyncio.start_server(connected, "127.0.0.1", 0)
    port = listener.sockets[0].getsockname()[1]
    async with fail_after(LONG), listener, http_link(f"http://127.0.0.1:{port}/mcp") as link:
        with pytest.raises(PermitLost):
            await link.send(ask(permit=Leave(False)))
        await done.wait()

    assert seen == [b""]


async def test_without_leave_nothing_is_written_on_a_connection_in_use_either():
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url) as link:
        await link.send(ask(permit=Leave(True)))
        with pytest.raises(PermitLost):
            await link.send(ask(permit=Leave(False)))
        await link.send(ask(permit=Leave(True)))

        assert len(server.asked) == 2


async def test_leave_is_asked_when_bytes_leave_and_not_when_the_request_is_made():
    leave = Leave(True)
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url) as link:
        sending = asyncio.create_task(link.send(ask(permit=leave)))
        await asyncio.sleep(0)

        assert leave.asked == 0
        await sending
        assert leave.asked == 1


@pytest.mark.parametrize("steps", range(12))
async def test_a_call_given_up_early_is_cancelled_at_the_server_only_if_it_was_written(
    steps: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("bascule.transports.http.dispatcher.TELLINGS", (0.0, 0.0))
    # Without a connection to use again, there is a while between the call and its writing.
    async with fail_after(LONG), raw_server(old_echo) as server, old_link(server.url) as link:
        leave = Leave(True)
        sending = asyncio.create_task(link.send(ask("given up", permit=leave)))
        for _ in range(steps):
            await asyncio.sleep(0)
        sending.cancel()
        await asyncio.wait([sending])
        await asyncio.gather(*link._tasks)
        await link.send(ask("after"))

        methods = [asked.message["method"] for asked in server.asked if asked.body]
        written, cancelled = methods.count("given up"), methods.count("notifications/cancelled")
        assert cancelled in ((0, 1, 2) if written else (0,))
        assert leave.asked == written + cancelled


async def test_leave_lost_in_the_middle_of_a_long_body_is_a_lost_connection():
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url) as link:
        with pytest.raises(ConnectionLost) as lost:
            await link.send(ask(params={"x": "y" * (PIECE * 2)}, permit=Leave(True, False)))

        assert lost.value.sent
        assert server.asked == []


async def test_a_body_of_megabytes_arrives_whole():
    async with fail_after(LONG), raw_server(echo) as server, http_link(server.url) as link:
        result = await link.send(ask(params={"x": "y" * 3_000_000}))

        assert result["length"] > 3_000_000
        assert server.asked[0].headers["content-type"] == "application/json"


async def test_telling_the_server_of_a_cancellation_needs_the_same_leave():
    async def hang(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if not asked.body or asked.message["method"] != "slow":
            await old_echo(asked, writer)

    async with fail_after(LONG), raw_server(hang) as server, old_link(server.url) as link:
        leave = Leave(True, False)
        sending = asyncio.create_task(link.send(ask("slow", permit=leave)))
        await server.next("slow")
        sending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await sending
        await leave.refused.wait()
        await link.send(ask("after"))

        assert "notifications/cancelled" not in [a.message["method"] for a in server.asked if a.body]


async def test_an_answer_to_the_server_needs_the_leave_of_the_call_it_came_with():
    async def asks_back(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if not asked.body or asked.message["method"] != "slow":
            await old_echo(asked, writer)
            return
        writer.write(stream_head() + event({"id": "q", "method": "elicitation/create"}))
        await leave.refused.wait()
        writer.write(event({"id": asked.id, "result": {}}))

    leave = Leave(True, False)
    async with fail_after(LONG), raw_server(asks_back) as server, old_link(server.url) as link:
        await link.send(ask("slow", permit=leave))
        await link.send(ask("after"))

        assert all("method" in asked.message for asked in server.asked if asked.body)
