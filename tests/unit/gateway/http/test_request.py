"""One request, as an app meets it: what it receives, and what becomes of what it sends."""

import asyncio
import re
from typing import Any

import pytest

from bascule.gateway.http.request import AHEAD, HttpRequest
from support.waiting import fail_after


class Flow:
    """A client that reads at once, until it does not."""

    def __init__(self) -> None:
        self.paused = False
        self.read = asyncio.Event()

    async def drained(self) -> None:
        await self.read.wait()


class Line:
    """A connection that keeps what is written to it, each write by itself."""

    def __init__(self) -> None:
        self.outflow: Any = Flow()
        self.parting = False
        self.written: list[bytes] = []
        self.whole = 0
        self.asked_for_more = 0

    def read_on(self) -> None:
        self.asked_for_more += 1

    def write(self, data: bytes) -> None:
        self.written.append(data)

    def answered(self, request: HttpRequest) -> None:
        assert request.complete
        self.whole += 1


@pytest.fixture
def line() -> Line:
    return Line()


def asked(line: Line, method: str = "POST", version: str = "1.1", *, alive: bool = True) -> HttpRequest:
    return HttpRequest(line, {"method": method, "http_version": version}, keep_alive=alive, expects=False)


def start(*headers: tuple[bytes, bytes], status: int = 200) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": [*headers]}


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


LENGTH = (b"content-length", b"5")


async def test_an_answer_of_a_known_length_is_one_write(line: Line):
    request = asked(line)
    await request(start((b"content-type", b"text/plain"), LENGTH))
    assert line.written == []
    await request(part(b"hello"))
    [written] = line.written
    head, _, body = written.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\ndate: ")
    assert head.endswith(b"content-type: text/plain\r\ncontent-length: 5")
    assert (body, line.whole) == (b"hello", 1)


JSON = (b"content-type", b"application/json")


@pytest.mark.parametrize("alive", [True, False])
@pytest.mark.parametrize("parting", [True, False])
async def test_a_whole_answer_in_one_step_is_what_two_events_make_of_it(line: Line, alive: bool, parting: bool):
    line.parting = parting
    at_once, in_two = asked(line, alive=alive), asked(line, alive=alive)
    assert at_once.answer(404, b"hello")
    await in_two(start(JSON, LENGTH, status=404))
    await in_two(part(b"hello"))
    first, second = (re.sub(rb"date: [^\r]+", b"date", written) for written in line.written)
    assert first == second
    assert (at_once.keep_alive, at_once.begun, at_once.complete, line.whole) == (in_two.keep_alive, True, True, 2)
    assert (await at_once.receive())["type"] == "http.disconnect"
    with pytest.raises(RuntimeError, match="whole already"):
        await at_once(part(b"more"))


async def test_a_body_that_came_with_its_head_is_received_or_had_at_once(line: Line):
    one, other = (
        HttpRequest(line, {"method": "POST"}, keep_alive=True, expects=False, body=b"hello") for _ in range(2)
    )
    assert await one.receive() == {"type": "http.request", "body": b"hello", "more_body": False}
    assert one.whole(5) is None
    assert other.whole(5) == b"hello"
    for request in (one, other):
        waiting = asyncio.ensure_future(request.receive())
        await asyncio.sleep(0)
        assert not waiting.done()
        request.lose()
        assert (await waiting)["type"] == "http.disconnect"


async def test_one_that_is_not_here_yet_is_waited_for(line: Line):
    request = asked(line)
    assert request.whole(5) is None
    request.take(b"he")
    assert request.whole(5) is None
    request.take(b"llo")
    request.end()
    assert request.whole(4) is None
    assert request.whole(5) == b"hello"


async def test_nor_is_one_had_of_a_client_that_is_gone_or_was_answered(line: Line):
    gone, told = (HttpRequest(line, {"method": "POST"}, keep_alive=True, expects=False, body=b"x") for _ in range(2))
    gone.lose()
    told.answer(404, b"{}")
    assert (gone.whole(5), told.whole(5)) == (None, None)


async def test_one_that_cannot_be_given_in_one_step_is_not_given_at_all(line: Line):
    gone, begun, slow = asked(line), asked(line), asked(line)
    gone.lose()
    await begun(start(LENGTH))
    line.outflow.paused = True
    assert not any(request.answer(200, b"hello") for request in (gone, begun, slow, asked(line, "HEAD")))
    line.outflow.paused = False
    assert not any(request.answer(200, b"hello") for request in (gone, begun, asked(line, "HEAD")))
    assert (line.written, line.whole) == ([], 0)


async def test_one_in_parts_goes_out_as_they_come(line: Line):
    request = asked(line)
    await request(start(LENGTH))
    await request(part(b"he", more=True))
    assert line.written[0].endswith(b"\r\n\r\nhe")
    assert line.whole == 0
    await request(part(b"llo"))
    assert (line.written[1], line.whole) == (b"llo", 1)


async def test_a_stream_begins_before_there_is_anything_in_it_and_its_parts_are_chunks(line: Line):
    request = asked(line)
    await request(start())
    assert line.written[0].endswith(b"transfer-encoding: chunked\r\n\r\n")
    await request(part(b"x" * 17, more=True))
    await request(part(b"", more=True))
    await request(part(b"y"))
    assert line.written[1:] == [b"11\r\n" + b"x" * 17 + b"\r\n", b"1\r\ny\r\n0\r\n\r\n"]


async def test_an_older_client_reads_a_stream_until_the_end_of_the_connection(line: Line):
    request = asked(line, version="1.0", alive=False)
    await request(start())
    await request(part(b"all of it"))
    head, body = line.written
    assert b"chunked" not in head
    assert head.endswith(b"connection: close\r\n\r\n")
    assert body == b"all of it"


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 204), ("GET", 304)])
async def test_an_answer_without_a_body_has_none(line: Line, method: str, status: int):
    request = asked(line, method)
    await request(start(status=status))
    await request(part(b"hello" if method == "HEAD" else b""))
    assert b"".join(line.written).endswith(b"\r\n\r\n")
    assert b"chunked" not in b"".join(line.written)
    assert line.whole == 1


async def test_the_answer_to_head_says_how_long_that_to_get_would_be(line: Line):
    request = asked(line, "HEAD")
    await request(start(LENGTH))
    await request(part(b"hello"))
    assert b"".join(line.written).endswith(b"content-length: 5\r\n\r\n")


@pytest.mark.parametrize("bodies", [[b"hello!"], [b"hell"], [b"hel", b"lo!"]])
async def test_an_answer_that_is_not_as_long_as_it_says_is_not_sent_as_one(line: Line, bodies: list[bytes]):
    request = asked(line)
    await request(start(LENGTH))
    *first, last = bodies
    for body in first:
        await request(part(body, more=True))
    with pytest.raises(RuntimeError, match="length"):
        await request(part(last))
    assert line.whole == 0


@pytest.mark.parametrize(
    "header",
    [
        (b"location", b"/\r\nset-cookie: a=b"),
        (b"x", b"a\nb"),
        (b"x", b"\0"),
        (b"x\r\ny", b"a"),
        (b"x:", b"a"),
        (b"x y", b""),
    ],
)
async def test_a_header_that_would_end_before_its_end_is_not_sent(line: Line, header: tuple[bytes, bytes]):
    request = asked(line)
    with pytest.raises(RuntimeError, match="header"):
        await request(start(header))
    assert line.written == []


async def test_nothing_follows_a_whole_answer(line: Line):
    request = asked(line)
    await request(start(LENGTH))
    await request(part(b"hello"))
    with pytest.raises(RuntimeError, match="whole"):
        await request(part(b"more"))


@pytest.mark.parametrize("why", ["the app", "the server", "the client"])
async def test_a_client_is_told_once_that_its_connection_is_closed(line: Line, why: str):
    line.parting = why == "the server"
    request = asked(line, alive=why != "the client")
    await request(start(LENGTH, *([(b"connection", b"close")] if why == "the app" else [])))
    await request(part(b"hello"))
    assert line.written[0].count(b"connection: close\r\n") == 1
    assert not request.keep_alive


async def test_a_client_that_reads_slowly_is_waited_for(line: Line):
    request = asked(line)
    line.outflow.paused = True
    sending = asyncio.ensure_future(request(start()))
    await asyncio.sleep(0)
    assert line.written == []
    line.outflow.read.set()
    await sending
    assert len(line.written) == 1


async def test_to_one_that_is_gone_nothing_is_sent(line: Line):
    request = asked(line)
    request.lose()
    await request(start(LENGTH))
    await request(part(b"hello"))
    assert line.written == []


async def test_a_body_is_received_as_it_came_and_then_that_the_client_has_gone(line: Line):
    request = asked(line)
    assert request.take(b"a") is False
    request.take(b"b")
    assert request.unread
    assert await request.receive() == {"type": "http.request", "body": b"ab", "more_body": True}
    request.take(b"c")
    request.end()
    assert await request.receive() == {"type": "http.request", "body": b"c", "more_body": False}
    waiting = asyncio.ensure_future(request.receive())
    await asyncio.sleep(0)
    assert not waiting.done()
    request.lose()
    async with fail_after(10, "the end"):
        assert (await waiting)["type"] == "http.disconnect"
    assert (await request.receive())["type"] == "http.disconnect"


async def test_a_request_without_a_body_has_an_empty_one(line: Line):
    request = asked(line, "GET")
    request.end()
    assert await request.receive() == {"type": "http.request", "body": b"", "more_body": False}


async def test_who_waits_for_more_has_it_read_and_who_gives_up_takes_nothing_from_others(line: Line):
    request = asked(line)
    one, other = (asyncio.ensure_future(request.receive()) for _ in "12")
    await asyncio.sleep(0)
    assert line.asked_for_more == 2
    one.cancel()
    await asyncio.sleep(0)
    request.take(b"x")
    async with fail_after(10, "a part of a body"):
        assert (await other)["body"] == b"x"


async def test_whoever_still_listens_when_the_answer_is_whole_hears_of_the_end(line: Line):
    request = asked(line)
    request.end()
    await request.receive()
    waiting = asyncio.ensure_future(request.receive())
    await asyncio.sleep(0)
    await request(start(LENGTH))
    await request(part(b"hello"))
    async with fail_after(10, "the end"):
        assert (await waiting)["type"] == "http.disconnect"


async def test_no_more_of_a_body_is_taken_than_somebody_reads(line: Line):
    request = asked(line)
    assert request.take(b"x" * AHEAD) is False
    assert request.take(b"x") is True


async def test_who_waits_to_be_told_to_send_its_body_is_told_when_somebody_reads_it(line: Line):
    request = HttpRequest(line, {"method": "POST", "http_version": "1.1"}, keep_alive=True, expects=True)
    waiting = asyncio.ensure_future(request.receive())
    await asyncio.sleep(0)
    assert line.written == [b"HTTP/1.1 100 Continue\r\n\r\n"]
    request.take(b"x")
    async with fail_after(10, "a part of a body"):
        await waiting


async def test_and_not_once_its_answer_has_begun(line: Line):
    request = HttpRequest(line, {"method": "POST", "http_version": "1.1"}, keep_alive=True, expects=True)
    await request(start(LENGTH))
    await request(part(b"hello"))
    assert (await request.receive())["type"] == "http.disconnect"
    assert not any(b"100 Continue" in written for written in line.written)
