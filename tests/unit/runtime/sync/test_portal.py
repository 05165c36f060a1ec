import asyncio
import os
import signal
import threading
import warnings
from contextlib import suppress

import pytest

from bascule.core.errors import UsageError
from bascule.runtime.sync.portal import Portal


async def thread_name() -> str:
    await asyncio.sleep(0)
    return threading.current_thread().name


def test_work_is_done_in_a_thread_of_its_own_and_its_value_comes_back():
    with Portal("there") as portal:
        assert portal.run(thread_name()) == "there"
        assert portal.run(thread_name()) == "there"


def test_what_it_raises_comes_back_too():
    async def fails() -> None:
        raise KeyError("gone")

    with Portal() as portal, pytest.raises(KeyError, match="gone"):
        portal.run(fails())


def test_closing_ends_the_thread_and_closing_again_does_nothing():
    portal = Portal("ends")
    portal.open()
    portal.open()
    assert [thread.name for thread in threading.enumerate()].count("ends") == 1
    portal.close()
    portal.close()
    assert not portal.is_open
    assert "ends" not in [thread.name for thread in threading.enumerate()]


def test_it_can_be_opened_again():
    portal = Portal()
    for _ in range(2):
        with portal:
            assert portal.is_open
            portal.run(asyncio.sleep(0))


def test_a_closed_one_says_so():
    with pytest.raises(UsageError, match="closed"):
        Portal().run(asyncio.sleep(0))


def test_its_own_loop_cannot_wait_for_itself():
    with Portal() as portal:

        async def asks() -> None:
            portal.run(asyncio.sleep(0))

        with pytest.raises(UsageError, match="wait for itself"):
            portal.run(asks())


def test_what_runs_when_it_closes_is_cancelled_and_whoever_waits_is_told():
    begun, ended, told = threading.Event(), threading.Event(), threading.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    def wait() -> None:
        with pytest.raises(UsageError, match="before this was done"):
            portal.run(endless())
        told.set()

    portal = Portal()
    portal.open()
    waiter = threading.Thread(target=wait)
    waiter.start()
    assert begun.wait(10)
    portal.close()
    waiter.join(10)
    assert ended.is_set()
    assert told.is_set()


def test_many_threads_may_use_it_while_it_closes_and_none_hangs():
    portal = Portal()
    portal.open()
    begun = threading.Barrier(9)

    def use() -> None:
        begun.wait(10)
        with suppress(UsageError):
            while True:
                portal.run(asyncio.sleep(0))

    users = [threading.Thread(target=use, daemon=True) for _ in range(8)]
    for user in users:
        user.start()
    begun.wait(10)
    portal.close()
    for user in users:
        user.join(10)
    assert not any(user.is_alive() for user in users)


def test_what_was_only_started_is_not_waited_for_and_can_be_taken_back():
    begun, ended = threading.Event(), threading.Event()

    async def endless() -> None:
        begun.set()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            ended.set()

    with Portal() as portal:
        waiting = portal.start(endless())
        assert begun.wait(10)
        waiting.cancel()
        assert ended.wait(10)


def test_it_knows_its_own_thread():
    async def asked(portal: Portal) -> bool:
        return portal.inside

    with Portal() as portal:
        assert not portal.inside
        assert portal.run(asked(portal))


def test_whoever_closes_second_waits_for_the_end_as_well():
    stopping, leave, second = threading.Event(), threading.Event(), threading.Event()

    async def slow_to_end() -> None:
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            stopping.set()
            leave.wait(10)

    async def nothing() -> None: ...

    portal = Portal("slow")
    portal.open()
    portal.start(slow_to_end())
    portal.run(nothing())
    closers = [threading.Thread(target=lambda: (portal.close(), second.set())) for _ in range(2)]
    closers[0].start()
    assert stopping.wait(10)
    closers[1].start()
    assert not second.is_set()
    leave.set()
    for closer in closers:
        closer.join(10)
    assert second.is_set()
    assert "slow" not in [thread.name for thread in threading.enumerate()]


def test_a_process_that_was_forked_off_is_told_that_it_has_none():
    """It has the object, but not the thread: waiting for it would never end."""
    with Portal() as portal:
        with warnings.catch_warnings():
            # Later Pythons advise against just this.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if not child:
            # Lest it wait for ever.
            signal.alarm(10)
            try:
                portal.run(asyncio.sleep(0))
            except UsageError:
                portal.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        portal.run(asyncio.sleep(0))
