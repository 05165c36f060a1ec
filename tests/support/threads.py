"""Calling what waits, in a thread, and waiting for what nothing tells of."""

import signal
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TypeVar

T = TypeVar("T")


def in_thread(work: Callable[[], T]) -> "Future[T]":
    """Begin it in a thread that hinders no program from ending."""
    done: Future[T] = Future()

    def do() -> None:
        try:
            done.set_result(work())
        except BaseException as error:  # noqa: BLE001 -- it is the test's, whatever it is
            done.set_exception(error)

    threading.Thread(target=do, daemon=True).start()
    return done


def waited_for(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """What happens in another process or thread."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "what was waited for did not happen"
        time.sleep(0.01)


@contextmanager
def interrupted_once(true: Callable[[], bool]) -> Generator[None]:
    """Press Ctrl-C during the block, which runs in the main thread, once something is so."""
    main = threading.main_thread()
    assert threading.current_thread() is main

    def interrupt() -> None:
        waited_for(true)
        assert main.ident is not None
        # To that thread itself: what it waits in must be woken.
        signal.pthread_kill(main.ident, signal.SIGINT)

    # What a shell starts in the background does not hear Ctrl-C, and its tests would not either.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupting = in_thread(interrupt)
    try:
        yield
    finally:
        interrupting.result(30)
        signal.signal(signal.SIGINT, before)
