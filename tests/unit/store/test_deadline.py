"""Deadline of a wait for the store, by a clock that the test moves."""

import asyncio

import pytest

from bascule.core.errors import StoreError
from bascule.store import deadline
from bascule.store.deadline import LONGEST, StoreWait, current_wait
from support.waiting import fail_after


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    moved = [100.0]
    monkeypatch.setattr(deadline, "monotonic", lambda: moved[0])
    return moved


def test_the_time_runs_only_while_an_operation_is_waited_for(now: list[float]):
    wait = StoreWait()
    given: list[float] = []
    for seconds in (4.0, 12.0, 1.0):
        now[0] += 1000
        with wait.spend() as left:
            given.append(left)
            now[0] += seconds

    assert given == [LONGEST, LONGEST - 4, 0.0]


def test_an_operation_outside_of_a_shared_wait_has_a_whole_one_of_its_own():
    wait = StoreWait()
    wait.left = 3.0
    with wait.shared():
        assert current_wait() is wait
    assert current_wait() is not wait
    assert current_wait().left == LONGEST


async def test_work_that_goes_on_without_its_caller_is_waited_for_until_the_deadline():
    wait, work = StoreWait(), asyncio.get_running_loop().create_future()
    wait.left = 0.01
    async with fail_after(20, "the deadline"):
        with pytest.raises(StoreError, match="did not answer within 15 s") as caught:
            async with wait.limited():
                await asyncio.shield(work)

    assert caught.value.fix
    assert not work.done()


async def test_a_timeout_of_the_work_itself_is_its_own():
    with pytest.raises(TimeoutError, match="another one"):
        async with StoreWait().limited():
            raise TimeoutError("another one")
