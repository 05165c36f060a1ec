"""

An event stream in chunks between which the loop turns."""

import asyncio

import pytest
from aiohttp import StreamReader
from aiohttp.base_protocol import BaseProtocol

from bascule.core.errors import ConnectionLost
from bascule.core.json_types import JsonObject
from bascule.transports.dispatcher import Response
from bascule.transports.http.dispatcher import HttpDispatcher
from bascule.transports.http.server_stream import CHUNK, LONGEST_WAIT, SHORTEST_WAIT, Chunks, message_of, wait_before
from bascule.wire.sse import Event
from support.http_links import LONG, ask, new_link, old_link
from support.http_servers import Answer, Asked, RawServer, event, http_reply, raw_server, result_body, stream_head
from support.streams import Leave
from support.waiting import fail_after, until

HELLO = {"protocolVersion": "2025-11-25"}
RETRY_AT_ONCE = b"retry: 0\n\n"


def old_server(on_get: Answer, *, session: bool = True) -> Answer:
    """A server of the old era whose GET does what a test wants."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "GET":
            await on_get(asked, writer)
        elif asked.method == "DELETE":
            writer.write(http_reply(kind=""))
        else:
            headers = {"Mcp_Session_Id": "s-1"} if session else {}
            writer.write(http_reply(result_body(asked.message.get("id"), HELLO), **headers))

    return answer


async def forever() -> None:
    await asyncio.Event().wait()


def listen(link: HttpDispatcher) -> "asyncio.Queue[tuple[str, JsonObject]]":
    heard: asyncio.Queue[tuple[str, JsonObject]] = asyncio.Queue()
    link.on_notice = lambda method, params: heard.put_nowait((method, params))
    return heard


def test_the_wait_is_what_the_server_asked_for_within_bounds():
    assert wait_before(None, 0) == 1.0
    assert wait_before(3.0, 0) == 3.0
    assert wait_before(0.0, 0) == SHORTEST_WAIT
    assert wait_before(1e9, 0) == LONGEST_WAIT


def test_the_wait_grows_while_nothing_comes_of_it():
    waits = [wait_before(1.0, failures) for failures in range(2000)]

    assert waits[:4] == [1.0, 2.0, 4.0, 8.0]
    assert set(waits[5:]) == {LONGEST_WAIT}


def test_events_of_other_kinds_carry_no_message():
    assert message_of(Event("endpoint", b"{}")) is None
    assert message_of(Event("message", b"")) is None
    assert message_of(Event("message", b'{"method": "a"}')) is not None


async def test_what_the_server_says_unasked_is_heard():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + event({"method": "notifications/tools/list_changed"}))
        await forever()

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url) as link:
        assert await listen(link).get() == ("notifications/tools/list_changed", {})

        asked = next(asked for asked in server.asked if asked.method == "GET")
        assert asked.headers["accept"] == "text/event-stream"
        assert asked.headers["mcp-session-id"] == "s-1"
        assert asked.headers["mcp-protocol-version"] == "2025-11-25"
        assert "last-event-id" not in asked.headers
        assert "content-type" not in asked.headers


async def test_a_request_on_the_servers_stream_is_answered_by_a_post():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + event({"id": "p-1", "method": "ping"}))
        await forever()

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url):
        while (asked := await server.next("POST")).message.get("id") != "p-1":
            pass

        assert asked.message == {"jsonrpc": "2.0", "id": "p-1", "result": {}}
        assert asked.headers["mcp-session-id"] == "s-1"


async def test_a_stream_that_ends_is_resumed_after_its_last_event():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        count = sum(asked.method == "GET" for asked in server.asked)
        writer.write(stream_head() + RETRY_AT_ONCE + event({"method": f"n{count}"}, f"e{count}"))
        if count > 1:
            await forever()
        writer.close()

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url) as link:
        heard = listen(link)
        assert [(await heard.get())[0], (await heard.get())[0]] == ["n1", "n2"]

        gets = [asked for asked in server.asked if asked.method == "GET"]
        assert [asked.headers.get("last-event-id") for asked in gets] == [None, "e1"]


async def failing_first(*first: bytes) -> list[Asked]:
    """Give each of these answers to a GET once, then a stream; return the GETs made until something was heard."""

    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        count = sum(asked.method == "GET" for asked in server.asked)
        if count == 1:
            writer.write(stream_head() + RETRY_AT_ONCE)
            writer.close()
        elif count - 2 < len(first):
            writer.write(first[count - 2])
            writer.close()
        else:
            writer.write(stream_head() + event({"method": "back"}))
            await forever()

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url) as link:
        assert (await listen(link).get())[0] == "back"
        return [asked for asked in server.asked if asked.method == "GET"]


@pytest.mark.parametrize("status", ["409 Conflict", "429 Slow", "500 Oops", "503 Later"])
async def test_a_passing_failure_is_tried_again(status: str):
    assert len(await failing_first(http_reply(status=status))) == 3


async def test_a_broken_connection_is_tried_again():
    assert len(await failing_first(b"", b"nonsense\r\n\r\n")) == 4


@pytest.mark.parametrize(
    "status", ["405 Method Not Allowed", "400 Bad Request", "401 Unauthorized", "406 No", "200 OK"]
)
async def test_a_server_without_such_a_stream_is_asked_once_and_is_no_worse_for_it(status: str):
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(status=status))

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url) as link:
        await server.next("GET")
        await asyncio.gather(*link._tasks)
        await link.send(ask())

        assert sum(asked.method == "GET" for asked in server.asked) == 1
        assert not link.lost.done()


async def test_a_session_that_is_gone_ends_the_link():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(status="404 Not Found"))

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url) as link:
        reason = await link.lost

        assert "session" in reason.message
        with pytest.raises(ConnectionLost) as lost:
            await link.send(ask())
        assert not lost.value.sent


async def test_a_lost_link_listens_no_longer():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head())
        await forever()

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "POST" and asked.message["method"] == "gone":
            writer.write(http_reply(status="404 Not Found"))
        else:
            await old_server(on_get)(asked, writer)

    async with fail_after(LONG), raw_server(answer) as server, old_link(server.url) as link:
        await server.next("GET")
        with pytest.raises(ConnectionLost):
            await link.send(ask("gone"))
        await asyncio.gather(*link._tasks, return_exceptions=True)

        assert not link._tasks


async def test_without_a_session_a_missing_stream_is_only_that():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(status="404 Not Found"))

    quiet = old_server(on_get, session=False)
    async with fail_after(LONG), raw_server(quiet) as server, old_link(server.url) as link:
        await server.next("GET")
        await asyncio.gather(*link._tasks)

        assert not link.lost.done()


async def test_what_cannot_be_read_is_counted_and_the_stream_goes_on():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + event(b"nonsense") + event({"id": 99, "result": {}}) + event({"method": "n"}))
        await forever()

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url) as link:
        await listen(link).get()

        assert (link.counters.garbage, link.counters.last_garbage, link.counters.strays) == (1, "nonsense", 1)


async def test_an_event_over_the_cap_is_not_asked_for_again():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if sum(asked.method == "GET" for asked in server.asked) == 1:
            writer.write(stream_head() + RETRY_AT_ONCE + event({"method": "n1"}, "e1") + b"data: " + b"x" * 3000)
        else:
            writer.write(stream_head() + event({"method": "n2"}))
        await forever()

    server: RawServer
    async with (
        fail_after(LONG),
        raw_server(old_server(on_get)) as server,
        old_link(server.url, max_message=2000) as link,
    ):
        heard = listen(link)
        assert [(await heard.get())[0], (await heard.get())[0]] == ["n1", "n2"]

        assert [a.headers.get("last-event-id") for a in server.asked if a.method == "GET"] == [None, None]
        assert link.counters.garbage == 1


async def test_the_new_era_has_no_such_stream():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        raise AssertionError("a GET in the new era")

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, new_link(server.url) as link:
        await link.send(ask())

        assert [asked.method for asked in server.asked] == ["POST"]


async def test_agreeing_twice_opens_one_stream():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + event({"method": "n"}))
        await forever()

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url) as link:
        heard = listen(link)
        link.adopt("2025-11-25")
        await heard.get()

        assert len(link._tasks) == 1


async def test_a_link_can_be_closed_by_one_who_answers_on_it():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + event({"id": 1, "method": "roots/list"}))
        await forever()

    async def on_request(method: str, params: JsonObject) -> Response:
        await link.close(LONG)
        return Response({})

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url) as link:
        link.on_request = on_request
        await link.lost
        await server.next("DELETE")


async def test_requests_have_failed_when_the_loss_of_the_link_is_heard_of():
    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await gone.wait()
        writer.write(http_reply(status="404 Not Found"))

    async def slow(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method != "POST" or asked.message["method"] != "slow":
            await old_server(on_get)(asked, writer)

    gone = asyncio.Event()
    async with fail_after(LONG), raw_server(slow) as server, old_link(server.url) as link:
        call = asyncio.create_task(link.send(ask("slow")))
        await server.next("slow")
        gone.set()
        await asyncio.shield(link.lost)

        assert isinstance(call.exception(), ConnectionLost)


async def test_without_leave_a_stream_that_ended_is_not_opened_again_until_there_is_leave():
    leave = Leave()

    async def on_get(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if leave.refusals:
            writer.write(stream_head())
            await forever()
        leave.given = False
        writer.write(stream_head() + RETRY_AT_ONCE)
        writer.write_eof()

    async with fail_after(LONG), raw_server(old_server(on_get)) as server, old_link(server.url, leave=leave):
        await server.next("GET")
        await until(lambda: leave.refusals > 1)
        assert [asked.method for asked in server.asked].count("GET") == 1
        leave.given = True
        await server.next("GET")


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
