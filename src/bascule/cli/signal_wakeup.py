"""Wake-up of the event loop by signals. Without it, a signal that arrives just before the loop blocks, or on another
thread, is handled only at the next event. Separate, since it is loaded late: `bascule --help` has to be
instant."""

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
