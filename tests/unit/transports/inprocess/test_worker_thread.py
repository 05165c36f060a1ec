"""Work in a thread of its own: it stops nobody, and what it raises goes to who waits for it."""

import asyncio
import threading
from contextvars import ContextVar

import pytest

from bascule.transports.inprocess.worker_thread import in_a_thread
from support.waiting import fail_after

WHO: ContextVar[str] = ContextVar("who", default="nobody")


async def test_it_runs_beside_the_loop_and_in_the_context_of_who_asks():
    WHO.set("alice")

    def work() -> tuple[str, str, bool]:
        thread = threading.current_thread()
        return WHO.get(), thread.name, thread.daemon

    async with fail_after(10):
        assert await in_a_thread(work, "at work") == ("alice", "at work", True)


async def test_what_it_raises_goes_on_as_what_it_is():
    def work() -> None:
        raise LookupError("not here")

    async with fail_after(10):
        with pytest.raises(LookupError, match="not here"):
            await in_a_thread(work, "at work")


async def test_who_stops_waiting_leaves_it_to_itself():
    go_on, done = threading.Event(), threading.Event()

    def work() -> None:
        go_on.wait(10)
        done.set()

    waiting = in_a_thread(work, "at work")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    go_on.set()

    assert await asyncio.to_thread(done.wait, 10)
