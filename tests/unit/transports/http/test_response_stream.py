import asyncio
import threading
from typing import Any

import pytest
from mcp.server import MCPServer
from mcp.server.streamable_http import EventMessage, EventStore

from bascule.core.counters import Tally
from bascule.core.errors import ConnectionLost, PeerRefused, ProtocolViolation, ReplyTimeout
from bascule.core.json_types import JsonObject
from bascule.transports.dispatcher import Response
from support.http_links import LONG, ask, new_link, old_link
from support.http_servers import Answer, Asked, event, http_reply, raw_server, result_body, sdk_server, stream_head
from support.waiting import fail_after

HELLO = {"protocolVersion": "2025-11-25"}
RETRY_AT_ONCE = b"retry: 0\n\n"


def progress(token: Any, value: float) -> bytes:
    return event({"method": "notifications/progress", "params": {"progressToken": token, "progress": value}})


def stream(*events: bytes, result: JsonObject | None = None) -> Answer:
    """Answer each POST with these events, and the reply if there is to be one; then end the stream."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        reply = b"" if result is None else event({"id": asked.id, "result": result})
        writer.write(stream_head() + b"".join(events) + reply)
        writer.close()

    return answer


def old_server(on_call: Answer, on_get: Answer) -> Answer:
    """A server of the old era. Its own stream is refused; a GET that resumes one is `on_get`'s."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.method == "GET" and "last-event-id" in asked.headers:
            await on_get(asked, writer)
        elif asked.method == "POST" and asked.message.get("method") in {"tools/call", None}:
            await on_call(asked, writer)
        elif asked.method == "POST":
            writer.write(http_reply(result_body(asked.message.get("id"), HELLO), Mcp_Session_Id="s-1"))
        else:
            writer.write(http_reply(status="405 Not Allowed"))

    return answer


async def nothing(asked: Asked, writer: asyncio.StreamWriter) -> None:
    raise AssertionError("no such request was expected")


async def test_the_reply_is_found_among_other_things():
    noise = [b": comment\n\n", event({"method": "notifications/message"}), event(b""), b"event: ping\ndata: x\n\n"]
    async with fail_after(LONG), raw_server(stream(*noise, result={"x": 1})) as server, new_link(server.url) as link:
        heard: list[str] = []
        link.on_notice = lambda method, params: heard.append(method)

        assert await link.send(ask()) == {"x": 1}
        assert heard == ["notifications/message"]


async def test_replies_to_others_and_a_second_reply_are_strays():
    foreign = event({"id": 77, "result": {}})
    async with fail_after(LONG), raw_server(stream(foreign, result={"x": 1})) as server, new_link(server.url) as link:
        await link.send(ask())
        assert link.counters.strays == 1

    async def twice(asked: Asked, writer: asyncio.StreamWriter) -> None:
        reply = event({"id": asked.id, "result": {"first": True}}) + event({"id": asked.id, "result": {}})
        writer.write(stream_head() + reply)

    async with fail_after(LONG), raw_server(twice) as server, new_link(server.url) as link:
        assert await link.send(ask()) == {"first": True}
        assert link.counters.strays == 1


async def test_an_error_on_the_stream_is_a_refusal():
    refused = event({"id": 1, "error": {"code": -32602, "message": "no"}})
    async with fail_after(LONG), raw_server(stream(refused)) as server, new_link(server.url) as link:
        with pytest.raises(PeerRefused, match="no") as error:
            await link.send(ask())

        assert (error.value.rpc_code, error.value.status) == (-32602, 200)


@pytest.mark.parametrize("odd", [b"nonsense", b"[]", b"[" * 1000])
async def test_an_event_that_is_no_message_fails_the_request_at_once(odd: bytes):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + event(odd))
        await asyncio.Event().wait()

    async with fail_after(LONG), raw_server(answer) as server, new_link(server.url) as link:
        with pytest.raises(ProtocolViolation):
            await link.send(ask())


async def test_an_event_over_the_cap_fails_the_request_at_once():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + b"data: " + b"x" * 5000)
        await asyncio.Event().wait()

    async with fail_after(LONG), raw_server(answer) as server, new_link(server.url, max_message=1000) as link:
        with pytest.raises(ProtocolViolation, match="longer than 1000 bytes"):
            await link.send(ask())


async def test_progress_reaches_the_caller_before_the_result():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        token = asked.message["params"]["_meta"]["progressToken"]
        writer.write(stream_head() + progress(token, 1) + progress("other", 9))
        await writer.drain()
        await first.wait()
        writer.write(progress(token, 2) + event({"id": asked.id, "result": {}}))

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        heard.append(value)
        first.set()

    heard: list[float] = []
    first = asyncio.Event()
    async with fail_after(LONG), raw_server(answer) as server, new_link(server.url) as link:
        await link.send(ask(params={"_meta": {"kept": 1}}, on_progress=on_progress))

        assert heard == [1, 2]
        assert server.asked[0].message["params"]["_meta"] == {"kept": 1, "progressToken": 1}
        assert link.counters.notices_dropped == 1


async def test_a_caller_who_is_slow_to_hear_of_progress_still_gets_a_result_that_came_in_time():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + progress(asked.id, 1) + event({"id": asked.id, "result": {"x": 1}}))

    async def on_progress(value: float, total: float | None, message: str | None) -> None:
        await asyncio.Event().wait()

    async with fail_after(LONG), raw_server(answer) as server, new_link(server.url) as link:
        assert await link.send(ask(timeout=0.2, on_progress=on_progress)) == {"x": 1}


async def test_without_a_wish_for_progress_no_token_is_sent():
    async with fail_after(LONG), raw_server(stream(result={})) as server, new_link(server.url) as link:
        await link.send(ask(params={"x": 1}))

        assert server.asked[0].message["params"] == {"x": 1}


@pytest.mark.parametrize("drip", [b": still here\n\n", b"x", progress(1, 1), event({"method": "n"})])
async def test_nothing_that_trickles_in_extends_the_time(drip: bytes):
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head())
        while True:
            writer.write(drip)
            await writer.drain()
            await asyncio.sleep(0)

    async with fail_after(LONG), raw_server(answer) as server, new_link(server.url) as link:
        with pytest.raises(ReplyTimeout) as error:
            await link.send(ask(timeout=0.05, on_progress=lambda *told: None))

        assert error.value.evidence == "HTTP 200 and an event stream, without the reply"


async def test_a_request_on_the_stream_is_answered_while_the_caller_waits():
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if "result" in asked.message:
            answered.set_result(asked.message)
            writer.write(http_reply(status="202 Accepted", kind=""))
        else:
            writer.write(stream_head() + event({"id": "q", "method": "elicitation/create", "params": {"a": 1}}))
            await answered
            writer.write(event({"id": asked.id, "result": {"done": True}}))

    async def on_request(method: str, params: JsonObject) -> Response:
        return Response({"asked": method, "with": params})

    answered: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    async with fail_after(LONG), raw_server(old_server(answer, nothing)) as server, old_link(server.url) as link:
        link.on_request = on_request
        assert await link.send(ask()) == {"done": True}
        assert answered.result()["result"] == {"asked": "elicitation/create", "with": {"a": 1}}


async def test_in_the_new_era_a_stream_that_ends_early_loses_the_request():
    early = stream(RETRY_AT_ONCE, event({"method": "n"}, "e1"))
    async with fail_after(LONG), raw_server(early) as server, new_link(server.url) as link:
        with pytest.raises(ConnectionLost, match="ended before the reply") as lost:
            await link.send(ask())

        assert lost.value.sent
        assert len(server.asked) == 1
        assert not link.lost.done()


async def test_in_the_old_era_a_stream_without_ids_loses_the_request():
    early = old_server(stream(event({"method": "n"})), nothing)
    async with fail_after(LONG), raw_server(early) as server, old_link(server.url) as link:
        with pytest.raises(ConnectionLost) as lost:
            await link.send(ask())

        assert lost.value.sent


async def test_in_the_old_era_a_broken_stream_is_resumed_where_it_broke():
    async def resume(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if asked.headers["last-event-id"] == "e2":
            writer.write(stream_head() + event({"method": "n3"}, "e3"))
            writer.close()
        else:
            writer.write(stream_head() + event({"id": call.id, "result": {"x": 1}}, "e4"))

    broken = stream(RETRY_AT_ONCE, event({"method": "n1"}, "e1"), event(b"", "e2"), b"id: e9\ndata: {")
    async with fail_after(LONG), raw_server(old_server(broken, resume)) as server, old_link(server.url) as link:
        heard: list[str] = []
        link.on_notice = lambda method, params: heard.append(method)
        tally = Tally(lambda: 0.0)
        sending = asyncio.create_task(link.send(ask(tally=tally)))
        call = await server.next("tools/call")

        assert await sending == {"x": 1}
        assert heard == ["n1", "n3"]
        last = len(event({"id": call.id, "result": {"x": 1}}, "e4"))
        assert tally.window.within(0.0) > len(call.body) + last
        resumed = [asked.headers["last-event-id"] for asked in server.asked if "last-event-id" in asked.headers]
        assert resumed == ["e2", "e3"]


class Memory(EventStore):
    """Events of a real server, by their number."""

    def __init__(self) -> None:
        self.events: list[tuple[str, Any]] = []

    async def store_event(self, stream_id: str, message: Any) -> str:
        self.events.append((stream_id, message))
        return str(len(self.events))

    async def replay_events_after(self, last_event_id: str, send_callback: Any) -> str | None:
        after = int(last_event_id)
        stream_id = self.events[after - 1][0]
        for number, (other, message) in enumerate(self.events[after:], start=after + 1):
            if other == stream_id and message is not None:
                await send_callback(EventMessage(message, str(number)))
        return stream_id


async def test_a_call_at_a_real_server_survives_the_loss_of_its_connection():
    server = MCPServer("resumable")
    started, release = threading.Event(), threading.Event()

    @server.tool()
    def wait() -> str:
        started.set()
        release.wait(LONG)
        return "done"

    options = {"event_store": Memory(), "retry_interval": 20}
    async with fail_after(LONG), sdk_server(server, **options) as url, old_link(url) as link:
        calling = asyncio.create_task(link.send(ask(params={"name": "wait", "arguments": {}})))
        await asyncio.to_thread(started.wait, LONG)
        session = link._endpoint._session
        assert session is not None
        connector = session.connector
        assert connector is not None
        for protocol in [*connector._acquired]:
            assert protocol.transport is not None
            protocol.transport.abort()
        release.set()

        assert (await calling)["content"][0]["text"] == "done"


async def test_a_stream_that_cannot_be_resumed_loses_the_request():
    async def resume(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(status="400 Bad Request"))

    broken = stream(RETRY_AT_ONCE, event(b"", "e1"))
    async with fail_after(LONG), raw_server(old_server(broken, resume)) as server, old_link(server.url) as link:
        with pytest.raises(ConnectionLost) as lost:
            await link.send(ask())

        assert lost.value.evidence == "coming back to it gave HTTP 400"
        assert lost.value.sent
        assert not link.lost.done()


async def test_coming_back_in_vain_has_an_end():
    async def resume(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(status="503 Later"))

    broken = stream(RETRY_AT_ONCE, event(b"", "e1"))
    async with fail_after(LONG), raw_server(old_server(broken, resume)) as server, old_link(server.url) as link:
        with pytest.raises(ConnectionLost):
            await link.send(ask())

        assert sum("last-event-id" in asked.headers for asked in server.asked) == 3


async def test_coming_back_to_a_lost_session_ends_the_link():
    async def resume(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(http_reply(status="404 Not Found"))

    broken = stream(RETRY_AT_ONCE, event(b"", "e1"))
    async with fail_after(LONG), raw_server(old_server(broken, resume)) as server, old_link(server.url) as link:
        with pytest.raises(ConnectionLost) as lost:
            await link.send(ask())

        assert lost.value.sent
        assert "session" in link.lost.result().message


async def test_coming_back_counts_against_the_same_time():
    async def resume(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(stream_head() + event({"method": "n"}, "e1"))
        writer.close()

    broken = stream(RETRY_AT_ONCE, event(b"", "e1"))
    async with fail_after(LONG), raw_server(old_server(broken, resume)) as server, old_link(server.url) as link:
        with pytest.raises(ReplyTimeout):
            await link.send(ask(timeout=0.2))
