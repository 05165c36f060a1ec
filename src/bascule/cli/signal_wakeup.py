"""A signal wakes the event loop. Python notes a signal and sees to it when it next runs: one that comes in the moment
before the loop waits, or reaches another thread, would be seen to only once something else happens."""

import asyncio
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress


@contextmanager
def woken_by_signals(loop: asyncio.AbstractEventLoop) -> Generator[None]:
    """Within, no Ctrl-C is left lying. Whoever has the loop handle a signal has it woken by other means, which are as
    good."""
    if threading.current_thread() is not threading.main_thread():
        # Signals are not this thread's affair.
        yield
        return
    ours, told = socket.socketpair()
    ours.settimeout(0)
    told.settimeout(0)

    def read_on() -> None:
        with suppress(BlockingIOError):
            ours.recv(4096)

    loop.add_reader(ours, read_on)
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        loop.remove_reader(ours)
        ours.close()
        told.close()
