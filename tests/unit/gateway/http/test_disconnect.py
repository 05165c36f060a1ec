import asyncio
from typing import Any

import pytest

from bascule.gateway.http.disconnect import Attention
from support.waiting import fail_after


class Client:
    """Hangs up when it is told to."""

    def __init__(self) -> None:
        self.leaves = asyncio.Event()
        self.asked = 0

    async def __call__(self) -> dict[str, Any]:
        self.asked += 1
        await self.leaves.wait()
        return {"type": "http.disconnect"}


async def served(attention: Attention, work: asyncio.Event) -> str:
    with attention:
        await work.wait()
        return "done"
    return "given up"


async def test_what_ends_soon_is_never_looked_after():
    client, work = Client(), asyncio.Event()
    work.set()
    assert await served(Attention(client), work) == "done"
    await asyncio.sleep(0)
    assert client.asked == 0


async def test_once_the_client_has_gone_nothing_more_is_done():
    client = Client()
    client.leaves.set()
    attention = Attention(client)
    async with fail_after(10, "a client that has gone"):
        assert await served(attention, asyncio.Event()) == "given up"
    assert attention.gone
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


async def test_an_answer_that_is_no_longer_wanted_is_given_up_at_once():
    attention = Attention(Client())
    serving = asyncio.ensure_future(served(attention, asyncio.Event()))
    await asyncio.sleep(0)
    attention.give_up()
    attention.give_up()
    assert await serving == "given up"
    attention.give_up()


async def test_another_cancellation_goes_on():
    attention = Attention(Client())
    serving = asyncio.ensure_future(served(attention, asyncio.Event()))
    await asyncio.sleep(0)
    serving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await serving
    assert not attention.gone


async def test_what_fails_fails_as_what_it_is():
    with pytest.raises(KeyError), Attention(Client()):
        raise KeyError


async def test_who_was_let_go_may_hang_up_and_the_rest_can_still_be_given_up():
    client, work = Client(), asyncio.Event()
    attention = Attention(client)
    serving = asyncio.ensure_future(served(attention, work))
    async with fail_after(10, "the look at the client"):
        while not client.asked:  # noqa: ASYNC110 -- nothing tells of it
            await asyncio.sleep(0.01)
    attention.let_go()
    client.leaves.set()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not serving.done()
    attention.give_up()
    assert await serving == "given up"
