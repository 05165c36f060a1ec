import asyncio
import signal
import threading

import pytest

from bascule.cli.signal_wakeup import woken_by_signals


async def interrupted_elsewhere(late: list[str]) -> None:
    """Waits for nothing, and has another thread receive a Ctrl-C once it does."""
    loop = asyncio.get_running_loop()
    loop.call_later(20, late.append, "woken by its own clock")

    def receive() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    loop.call_soon(threading.Timer(0.1, receive).start)
    await loop.create_future()


def test_a_signal_that_reaches_another_thread_ends_the_wait_of_the_first():
    late: list[str] = []

    with asyncio.Runner() as runner, woken_by_signals(runner.get_loop()), pytest.raises(KeyboardInterrupt):
        runner.run(interrupted_elsewhere(late))

    assert late == []


def test_afterwards_all_is_as_it_was():
    with asyncio.Runner() as runner, woken_by_signals(runner.get_loop()):
        runner.run(asyncio.sleep(0))

    assert signal.set_wakeup_fd(-1) == -1


def test_in_another_thread_it_leaves_signals_alone():
    def work() -> None:
        with asyncio.Runner() as runner, woken_by_signals(runner.get_loop()):
            runner.run(asyncio.sleep(0))
        done.append(True)

    done: list[bool] = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert done == [True]
