import asyncio
from contextlib import AsyncExitStack

import pytest

from bascule.core.principal import Principal
from bascule.gateway.errors import Rejected
from bascule.gateway.mcp import listen as module
from bascule.gateway.mcp.listen import Streams
from support.waiting import fail_after

ALICE, BOB = Principal("alice", "s-1"), Principal("bob", "s-1")


async def test_one_principal_has_so_many_and_leaves_room_for_others(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_OF_ONE", 2)
    streams = Streams()
    async with AsyncExitStack() as stack:
        for _ in range(2):
            await stack.enter_async_context(streams.place(ALICE, lambda: None, None))
        with pytest.raises(Rejected) as refused:
            await stack.enter_async_context(streams.place(ALICE, lambda: None, None))
        assert refused.value.status == 429
        await stack.enter_async_context(streams.place(BOB, lambda: None, None))
    assert not len(streams)
    async with streams.place(ALICE, lambda: None, None):
        assert len(streams) == 1


async def test_all_together_have_so_many(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST", 1)
    streams = Streams()
    async with streams.place(ALICE, lambda: None, None):
        with pytest.raises(Rejected):
            async with streams.place(BOB, lambda: None, None):
                pass


async def test_a_stream_is_ended_when_its_time_is_up():
    over, up = asyncio.Event(), asyncio.Event()

    async def lasts() -> None:
        await up.wait()

    async with fail_after(10, "a stream"), Streams().place(ALICE, over.set, lasts):
        assert not over.is_set()
        up.set()
        await over.wait()


async def test_all_are_ended_together_and_none_begins_after_that():
    streams, over = Streams(), list[str]()
    async with (
        streams.place(ALICE, lambda: over.append("alice"), None),
        streams.place(BOB, lambda: over.append("bob"), None),
    ):
        streams.close()
        assert over == ["alice", "bob"]
    with pytest.raises(Rejected) as refused:
        async with streams.place(ALICE, lambda: None, None):
            pass
    assert refused.value.status == 503
