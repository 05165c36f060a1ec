import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from math import inf

import pytest

from bascule.core.errors import ConnectionLost, PeerRefused, PermitLost
from bascule.core.request import Permit, Request
from bascule.transports.http.endpoint import Endpoint
from bascule.transports.http.legacy_sse import Postbox
from bascule.transports.jsonrpc import Pending
from bascule.transports.outbox import Outgoing
from bascule.wire.jsonrpc import Message
from support.http_links import LONG, Leave
from support.http_servers import Answer, Asked, RawServer, http_reply, raw_server
from support.sse_servers import ACCEPTED
from support.waiting import fail_after

REQUEST = Request("tools/call", None, LONG)


async def accept(_: Asked, writer: asyncio.StreamWriter) -> None:
    writer.write(ACCEPTED)


async def say_nothing(_: Asked, writer: asyncio.StreamWriter) -> None:
    await writer.drain()


def saying(reply: bytes) -> Answer:
    async def answer(_: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(reply)

    return answer


@asynccontextmanager
async def postbox(answer: Answer, kept: list[float] | None = None) -> AsyncGenerator[tuple[Postbox, RawServer]]:
    async with fail_after(LONG), raw_server(answer) as server:
        endpoint = Endpoint(server.url, {})
        endpoint.open(LONG)
        box = Postbox(endpoint, 1000, LONG, (kept if kept is not None else []).append)
        try:
            yield box, server
        finally:
            box.end("over")
            await box.close()
            await endpoint.close()


def pending(permit: Permit | None = None) -> Pending:
    request = Request("tools/call", None, LONG, permit=permit)
    return Pending.of(request, b'{"id": 1}', asyncio.get_running_loop().create_future(), 0.0)


async def test_the_wait_for_a_reply_begins_when_the_message_is_handed_over():
    kept: list[float] = []
    async with postbox(accept, kept) as (box, server):
        message = pending()
        box.put(message)
        assert (message.deadline, message.sent) == (inf, False)
        await server.next("POST")
        assert message.sent
        assert kept == [message.deadline]
        assert message.deadline <= asyncio.get_running_loop().time() + LONG


async def test_a_refusal_fails_who_waits_for_the_reply():
    async with postbox(saying(http_reply(b"", "404 Not Found"))) as (box, _):
        message = pending()
        box.put(message)
        with pytest.raises(PeerRefused) as caught:
            await message.future
        assert "no longer knows our event stream" in caught.value.cause


async def test_without_leave_nothing_is_sent_and_who_waits_is_told():
    async with postbox(accept) as (box, server):
        message = pending(Leave(False))
        box.put(message)
        with pytest.raises(PermitLost):
            await message.future
        assert not message.sent
        assert server.asked == []


async def test_what_was_dropped_is_not_sent():
    async with postbox(accept) as (box, server):
        message = pending()
        box.put(message)
        message.dropped = True
        with pytest.raises(PermitLost):
            await message.future
        assert server.asked == []


async def test_a_post_ends_when_nobody_waits_for_its_reply_any_more():
    async with postbox(say_nothing) as (box, server):
        message = pending()
        box.put(message)
        await server.next("POST")
        message.future.cancel()
        await server.ended.get()


async def test_what_cancels_a_message_waits_until_it_was_accepted():
    accepted = asyncio.Event()

    async def hesitate(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if "id" in asked.message:
            await accepted.wait()
        writer.write(ACCEPTED)

    async with postbox(hesitate) as (box, server):
        message = pending()
        box.put(message)
        await server.next("POST")
        message.future.cancel()
        box.put_after(message, Outgoing(b'{"cancels": 1}'))
        # This one is not held up, and would come after what cancels if that were not either.
        await box.send(b"{}", REQUEST)
        assert (await server.next("POST")).message == {}
        assert len(server.asked) == 2
        accepted.set()
        assert (await server.next("POST")).message == {"cancels": 1}


async def test_what_cancels_a_message_that_is_never_accepted_is_sent_all_the_same():
    async def ignore(asked: Asked, writer: asyncio.StreamWriter) -> None:
        if "cancels" in asked.message:
            writer.write(ACCEPTED)

    async with postbox(ignore) as (box, server):
        message = pending()
        box.put(message)
        await server.next("POST")
        message.future.cancel()
        box.put_after(message, Outgoing(b'{"cancels": 1}'))
        await server.ended.get()
        assert (await server.next("POST")).message == {"cancels": 1}


async def test_a_post_that_is_not_answered_ends_a_moment_after_the_reply():
    async with postbox(say_nothing) as (box, server):
        message = pending()
        box.put(message)
        await server.next("POST")
        message.future.set_result(Message(id=1, result={}))
        await server.ended.get()


async def test_an_answer_of_ours_that_is_refused_fails_nobody():
    async with postbox(saying(http_reply(b"", "500 Internal Server Error"))) as (box, server):
        box.put(Outgoing(b"{}"))
        assert box.unasked == 1
        await server.next("POST")
        with pytest.raises(PeerRefused):
            await box.send(b"{}", REQUEST)
        await box.close()
        assert box.unasked == 0


async def test_after_the_end_nothing_leaves():
    async with postbox(accept) as (box, server):
        message = pending()
        box.put(message)
        box.end("the link was closed")
        with pytest.raises(ConnectionLost, match="the link was closed") as caught:
            await message.future
        assert not caught.value.sent
        with pytest.raises(ConnectionLost):
            await box.send(b"{}", REQUEST)
        assert server.asked == []


async def test_the_end_cuts_what_is_on_its_way():
    async with postbox(say_nothing) as (box, server):
        sending = asyncio.create_task(box.send(b"{}", REQUEST))
        await server.next("POST")
        box.end("the link was closed")
        with pytest.raises(ConnectionLost) as caught:
            await sending
        assert caught.value.sent
