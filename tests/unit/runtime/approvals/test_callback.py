"""Callbacks of any kind: asked under a deadline, and whatever they do harms nobody."""

import asyncio
import threading
from typing import Any

import pytest

from bascule.core.client_features import Approval, Elicitation, Sampling
from bascule.core.errors import Refused
from bascule.runtime.approvals.callback import put_to
from support.links import ALICE
from support.waiting import fail_after

QUESTION = Elicitation("work", ALICE, "Who?")


async def put(callback: Any, wait: float = 10.0, question: Any = QUESTION) -> Any:
    async with fail_after(20, "an answer"):
        return await put_to(callback, question, wait)


async def later(question: Any) -> str:
    await asyncio.sleep(0)
    return f"yes, {question.server}"


class Clerk:
    """A callback that is an object."""

    async def __call__(self, question: Any) -> str:
        return await later(question)


@pytest.mark.parametrize("callback", [later, lambda question: f"yes, {question.server}", Clerk(), Clerk().__call__])
async def test_a_callback_may_be_a_function_a_coroutine_or_an_object(callback: Any):
    assert await put(callback) == "yes, work"


@pytest.mark.parametrize(
    "question", [QUESTION, Sampling("work", ALICE, {}), Approval("work_act", "work", "act", ALICE, {}, "It waits.")]
)
async def test_a_callback_gets_the_question_as_it_is(question: Any):
    assert await put(lambda asked: asked, question=question) is question


async def test_a_callback_that_blocks_does_not_stop_the_loop():
    loop, asked, done = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def blocking(_: Any) -> str:
        loop.call_soon_threadsafe(asked.set)
        assert done.wait(10)
        return "at last"

    waiting = asyncio.create_task(put(blocking))
    async with fail_after(10, "the question"):
        await asked.wait()
    done.set()
    assert await waiting == "at last"


async def test_a_callback_that_blocks_for_ever_is_left_behind():
    over = threading.Event()

    def stuck(_: Any) -> str:
        over.wait()
        return "too late"

    assert await put(stuck, wait=0.01) is None
    left = [thread for thread in threading.enumerate() if thread.name == "bascule-callback"]
    assert left
    assert all(thread.daemon for thread in left)
    over.set()
    for thread in left:
        thread.join(10)


async def test_a_coroutine_that_takes_too_long_is_ended():
    ended = asyncio.Event()

    async def never(_: Any) -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    assert await put(never, wait=0.01) is None
    assert ended.is_set()


async def test_a_callback_that_has_no_patience_itself_has_not_answered():
    async def impatient(_: Any) -> None:
        raise TimeoutError

    assert await put(impatient) is None


async def broken_later(_: Any) -> None:
    raise ValueError("password is hunter2")


def broken(_: Any) -> None:
    raise ValueError("password is hunter2")


@pytest.mark.parametrize("callback", [broken, broken_later])
async def test_what_a_callback_raises_stays_here(callback: Any, caplog: pytest.LogCaptureFixture):
    answer = await put(callback)

    assert isinstance(answer, Refused)
    assert "hunter2" not in answer.message
    assert "the callback for what work asked raised" in caplog.text


async def test_who_gives_up_waiting_is_not_held():
    over = threading.Event()
    waiting = asyncio.create_task(put(lambda _: over.wait()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    over.set()
