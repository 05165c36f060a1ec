import asyncio
from typing import Any

import pytest

from bascule.core.errors import (
    ConnectFailed,
    ConnectionLost,
    LoginNeeded,
    PeerError,
    PeerRefused,
    PermitLost,
    ProtocolViolation,
    ReplyTimeout,
)
from bascule.transports.http.legacy_sse import MOST_UNASKED, SseDispatcher
from support.http_links import Leave, ask
from support.http_servers import http_reply, stream_head
from support.sse_servers import named, sse_link, sse_peer
from support.waiting import fail_after

HTML = http_reply(b"<h1>Welcome</h1>", kind="text/html")


async def failure(opening: bytes, **options: Any) -> PeerError:
    """Why a request fails at a server that answers the GET like this."""
    async with sse_peer(opening) as peer, sse_link(peer, **options) as link:
        with pytest.raises(PeerError) as caught:
            await link.send(ask())
        assert not caught.value.sent
        assert await link.lost is not None
        assert peer.messages == []
    return caught.value


# Opening


async def test_a_request_is_posted_where_the_server_says_and_answered_on_the_stream():
    async with sse_peer() as peer, sse_link(peer, {"X-Key": "k"}) as link:
        assert await link.send(ask("tools/list")) == {"asked": "tools/list"}

    opened, posted = peer.server.asked
    assert (opened.method, opened.path, opened.headers["accept"]) == ("GET", "/sse", "text/event-stream")
    assert (posted.method, posted.path) == ("POST", "/messages?session=1")
    assert opened.headers["x-key"] == posted.headers["x-key"] == "k"
    assert "cookie" not in posted.headers
    assert posted.body.endswith(b"}")


async def test_opening_does_not_wait_for_a_slow_server_and_the_first_request_does():
    async with sse_peer(stream_head()) as peer, sse_link(peer) as link:
        sending = asyncio.create_task(link.send(ask()))
        await peer.server.next("GET")
        assert not sending.done()
        await peer.say(named("/late"))
        assert await sending == {"asked": "tools/call"}
        assert link.evidence() == ""


@pytest.mark.parametrize("told", ["messages?s=1", "/messages?s=1", "?s=1", "HERE/a%2Fb?s=%41"])
async def test_the_endpoint_may_be_relative_or_absolute_and_is_kept_to_the_letter(told: str):
    async with sse_peer(stream_head()) as peer, sse_link(peer) as link:
        here = f"http://127.0.0.1:{peer.server.port}"
        await peer.say(named(told.replace("HERE", here)))
        await link.send(ask())
        wanted = {"messages?s=1": "/messages?s=1", "?s=1": "/sse?s=1"}.get(told, told.replace("HERE", ""))
        assert peer.server.asked[-1].path == wanted


@pytest.mark.parametrize("told", ["http://elsewhere.test/messages", "//elsewhere.test/messages", "https://127.0.0.1/m"])
async def test_an_endpoint_elsewhere_is_refused_and_nothing_is_sent_there(told: str):
    error = await failure(stream_head() + named(told))

    assert isinstance(error, ConnectFailed)
    assert "another server" in error.message
    assert told.rpartition("//")[2].partition("/")[0] in error.evidence


@pytest.mark.parametrize(
    "told", [b"http://[not-a-host/", b"javascript:alert(1)", b"a\xff\xfeb", b"with space", b"\x00"]
)
async def test_an_endpoint_that_is_no_url_is_refused(told: bytes):
    assert "not a URL" in (await failure(stream_head() + named(told))).message


async def test_an_endpoint_that_never_comes_is_given_up_whatever_else_comes():
    dripping = stream_head() + b": still here\n\n" * 100 + b"event: ping\ndata: 1\n\n"
    async with sse_peer(dripping) as peer, sse_link(peer, connect_timeout=1.0) as link:
        with pytest.raises(PeerError) as caught:
            await link.send(ask())
        assert "has named no endpoint" in link.evidence()
    error = caught.value

    assert isinstance(error, ConnectFailed)
    assert "named no endpoint within 1 s" in error.message
    assert "/sse" in error.fix


async def test_a_second_endpoint_ends_the_link():
    async with sse_peer() as peer, sse_link(peer) as link:
        await link.send(ask())
        await peer.say(named("/elsewhere"))
        assert isinstance(await link.lost, ProtocolViolation)
        with pytest.raises(ProtocolViolation, match="second endpoint"):
            await link.send(ask())


async def test_a_web_page_is_no_event_stream():
    error = await failure(HTML)

    assert "text/html" in error.evidence
    assert "neither JSON nor an event stream" in error.message


@pytest.mark.parametrize("status", ["404 Not Found", "405 Method Not Allowed", "500 Internal Server Error"])
async def test_a_refused_stream_is_told_with_its_status(status: str):
    error = await failure(http_reply(b"no such page", status, "text/plain"))

    assert isinstance(error, ConnectFailed)
    assert f"HTTP {status[:3]}" in error.evidence
    assert "no such page" in error.evidence


@pytest.mark.parametrize("status", ["401 Unauthorized", "403 Forbidden"])
async def test_a_stream_that_wants_to_know_who_we_are_needs_a_login(status: str):
    assert isinstance(await failure(http_reply(b"", status)), LoginNeeded)


async def test_a_compressed_stream_is_refused():
    assert "compressed" in (await failure(stream_head(Content_Encoding="gzip"))).message


async def test_a_stream_that_ends_before_it_names_an_endpoint_is_no_connection():
    async with sse_peer(stream_head()) as peer, sse_link(peer) as link:
        await peer.cut()
        with pytest.raises(ConnectFailed):
            await link.send(ask())


async def test_nobody_there_is_a_failure_to_connect():
    async with sse_peer() as peer:
        url = peer.url
    dispatcher = SseDispatcher(url, {}, max_message=1000, connect_timeout=5.0)
    async with fail_after(20):
        await dispatcher.open()
        with pytest.raises(ConnectFailed, match="no connection to"):
            await dispatcher.send(ask())
        await dispatcher.close(1.0)


async def test_a_stream_may_have_moved_on_the_same_server_only():
    here = http_reply(status="302 Found", Location="/sse/")
    async with sse_peer(here) as peer, sse_link(peer) as link:
        sending = asyncio.create_task(link.send(ask()))
        await peer.server.next("GET")
        assert (await peer.server.next("GET")).path == "/sse/"
        sending.cancel()
    assert "another server" in (await failure(http_reply(status="307 Moved", Location="http://h.test/"))).message
    assert "more than" in (await failure(here)).message


# Requests


async def test_a_reply_that_comes_before_the_post_is_answered_counts():
    async with sse_peer(posted=None) as peer, sse_link(peer) as link:
        assert await link.send(ask()) == {"asked": "tools/call"}
        assert await link.send(ask("tools/list")) == {"asked": "tools/list"}


@pytest.mark.parametrize("status", ["400 Bad Request", "404 Not Found", "413 Too Large", "503 Busy"])
async def test_a_refused_post_fails_that_request_alone_with_its_status(status: str):
    async with sse_peer() as peer, sse_link(peer) as link:
        peer.answering, peer.posted = False, http_reply(b"no", status, "text/plain", Retry_After="7")
        with pytest.raises(PeerRefused) as caught:
            await link.send(ask())
        assert caught.value.status == int(status[:3])
        assert caught.value.headers["Retry-After"] == "7"
        peer.answering, peer.posted = True, http_reply(b"", "200 OK", "text/plain")
        assert await link.send(ask()) == {"asked": "tools/call"}


async def test_a_post_that_wants_to_know_who_we_are_needs_a_login():
    async with sse_peer(posted=http_reply(b"", "401 Unauthorized")) as peer, sse_link(peer) as link:
        peer.answering = False
        with pytest.raises(LoginNeeded):
            await link.send(ask())


async def test_a_request_that_is_accepted_and_never_answered_times_out_and_the_server_is_told():
    async with sse_peer() as peer, sse_link(peer) as link:
        peer.answering = False
        with pytest.raises(ReplyTimeout) as caught:
            await link.send(ask("tools/call", timeout=0.2, phase="call"))
        assert (caught.value.phase, caught.value.timeout) == ("call", 0.2)
        cancelled = (await peer.server.next("notifications/cancelled")).message
        assert cancelled["params"]["requestId"] == peer.messages[0]["id"]


async def test_a_post_that_is_never_answered_times_out_as_well():
    async with sse_peer(posted=None) as peer, sse_link(peer) as link:
        peer.answering = False
        with pytest.raises(ReplyTimeout):
            await link.send(ask("tools/call", timeout=0.2))


async def test_what_is_cancelled_before_it_left_never_leaves():
    async with sse_peer(stream_head()) as peer, sse_link(peer) as link:
        sending = asyncio.create_task(link.send(ask()))
        await peer.server.next("GET")
        sending.cancel()
        await peer.say(named("/messages"))
        await link.send(ask("tools/list"))
        assert [message["method"] for message in peer.messages] == ["tools/list"]


async def test_the_permit_is_asked_where_the_bytes_are_handed_over():
    leave = Leave(False)
    async with sse_peer() as peer, sse_link(peer) as link:
        with pytest.raises(PermitLost):
            await link.send(ask("tools/call", permit=leave))
        assert leave.asked == 1
        await link.send(ask("tools/list"))
        assert [message["method"] for message in peer.messages] == ["tools/list"]


async def test_a_server_is_not_told_of_a_cancellation_once_the_permit_is_gone():
    leave = Leave(True, False)
    async with sse_peer() as peer, sse_link(peer) as link:
        peer.answering = False
        with pytest.raises(ReplyTimeout):
            await link.send(ask("tools/call", timeout=0.2, permit=leave))
        await leave.refused.wait()
        peer.answering = True
        await link.send(ask("tools/list"))
        assert [message["method"] for message in peer.messages] == ["tools/call", "tools/list"]


async def test_a_notification_is_accepted_before_it_counts_as_sent():
    async with sse_peer() as peer, sse_link(peer) as link:
        await link.notify("notifications/initialized")
        assert peer.messages[0]["method"] == "notifications/initialized"
        peer.posted = http_reply(b"", "500 Internal Server Error")
        with pytest.raises(PeerRefused):
            await link.notify("notifications/initialized")


# What the server says


async def test_notices_and_progress_reach_who_wants_them():
    seen: list[Any] = []
    async with sse_peer() as peer, sse_link(peer) as link:
        peer.answering = False
        link.on_notice = lambda method, params: seen.append((method, params))
        sending = asyncio.create_task(link.send(ask(on_progress=lambda *progress: seen.append(progress))))
        asked = await peer.server.next("POST")
        told = {"progressToken": asked.message["params"]["_meta"]["progressToken"], "progress": 1}
        await peer.say(
            {"method": "notifications/message", "params": {"a": 1}},
            {"method": "notifications/progress", "params": told},
            {"id": asked.id, "result": {}},
        )
        await sending
    assert seen == [("notifications/message", {"a": 1}), (1, None, None)]


async def test_a_request_of_the_servers_is_answered_by_a_post():
    async with sse_peer() as peer, sse_link(peer):
        await peer.say({"id": "p", "method": "ping"})
        assert (await peer.server.next("POST")).message == {"jsonrpc": "2.0", "id": "p", "result": {}}


async def test_a_flood_of_requests_does_not_become_a_flood_of_answers():
    async with sse_peer(posted=None) as peer, sse_link(peer) as link:
        await peer.say(*({"id": f"p{number}", "method": "ping"} for number in range(500)))
        await link.send(ask())
        assert link.counters.notices_dropped == 500 - MOST_UNASKED


async def test_garbage_is_counted_and_ends_the_link_at_a_limit():
    async with sse_peer() as peer, sse_link(peer) as link:
        await peer.say(b"data: hello\n\n")
        await link.send(ask())
        assert link.counters.garbage == 1
        await peer.say(b"data: hello\n\n" * 100)
        assert "could not be read" in (await link.lost).message
        assert "stdout" not in (await link.lost).cause


async def test_an_event_over_the_cap_ends_the_link():
    async with sse_peer() as peer, sse_link(peer, max_message=1000) as link:
        peer.answering = False
        sending = asyncio.create_task(link.send(ask()))
        await peer.server.next("POST")
        await peer.say(b"data: " + b"x" * 2000)
        with pytest.raises(ProtocolViolation, match="longer than 1000"):
            await sending


# The end


async def test_a_cut_stream_fails_each_request_with_whether_it_had_left():
    async with sse_peer() as peer, sse_link(peer) as link:
        peer.answering = False
        leave = Leave(True)
        sending = asyncio.create_task(link.send(ask(permit=leave)))
        await peer.server.next("POST")
        await peer.cut()
        with pytest.raises(ConnectionLost) as caught:
            await sending
        assert caught.value.sent
        with pytest.raises(ConnectionLost) as later:
            await link.send(ask())
        assert not later.value.sent


async def test_a_stream_that_is_ended_politely_is_lost_too():
    async with sse_peer() as peer, sse_link(peer) as link:
        await link.send(ask())
        (await peer._stream).close()
        assert (await link.lost).message == "the server ended the event stream"


async def test_closing_ends_the_stream_and_what_is_in_flight_at_once():
    async with sse_peer(posted=None) as peer, sse_link(peer) as link:
        peer.answering = False
        sending = asyncio.create_task(link.send(ask()))
        await peer.server.next("POST")
        await asyncio.gather(link.close(1.0), link.close(1.0))
        with pytest.raises(ConnectionLost) as caught:
            await sending
        assert caught.value.sent
        await peer.server.ended.get()


async def test_a_link_can_be_closed_while_it_is_opened_and_before():
    async with sse_peer(stream_head()) as peer:
        async with sse_link(peer) as link:
            sending = asyncio.create_task(link.send(ask()))
            await peer.server.next("GET")
            await link.close(1.0)
            with pytest.raises(ConnectionLost):
                await sending
        unopened = SseDispatcher(peer.url, {}, max_message=1000, connect_timeout=1.0)
        await unopened.close(1.0)
        with pytest.raises(ConnectFailed):
            await unopened.open()
        with pytest.raises(ConnectionLost):
            await unopened.notify("notifications/initialized")
