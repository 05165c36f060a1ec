"""Wait loop of fork server and reaper: messages, SIGCHLD, and the end of the runtime by its pidfd. Runs outside the
package: standard library only."""

import os
import select
import signal
from contextlib import suppress

IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE)
"""Meant for us, if they come from a terminal or from whoever stops a whole service. What we do about them is enough: a
keeper that ended would leave its server without one. The last is ignored by Python itself."""


def prick_up_ears() -> None:
    """Hear of children, and of nothing else. Once is enough: forks have it from the process they come from."""
    # Whoever started us may have blocked any, or had any ignored, and a server would have that from us.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals():
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)
    for number in IGNORED:
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, _on_child)


def hear_again() -> None:
    """Undo it, as far as starting another program does not."""
    for number in IGNORED:
        signal.signal(number, signal.SIG_DFL)


def _on_child(*_: object) -> None:
    """A signal without a handler of Python's wakes nobody."""


class Watch:
    """Waits for several things at once. Every process that waits needs one of its own."""

    def __init__(self, owner: int) -> None:
        self._owner = owner
        """A pidfd of the process that all is done for, or -1 where there is none."""
        self._poll = select.poll()
        self._watched: set[int] = set()
        self._bell, self._rope = os.pipe()
        for end in (self._bell, self._rope):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(self._rope, warn_on_full_buffer=False)
        self.on(self._bell)
        if owner >= 0:
            self.on(owner)

    def on(self, descriptor: int) -> None:
        self._poll.register(descriptor, select.POLLIN)
        self._watched.add(descriptor)

    def only_children(self) -> None:
        """Wait for nothing else any more: what has ended would never stop being ready."""
        for descriptor in self._watched - {self._bell}:
            self._poll.unregister(descriptor)
        self._watched = {self._bell}

    def wait(self, seconds: float | None = None) -> set[int]:
        """Return what there is something to read from. A child that has ended only ends the wait."""
        ready = {descriptor for descriptor, _ in self._poll.poll(None if seconds is None else seconds * 1000)}
        if self._bell in ready:
            with suppress(BlockingIOError):
                os.read(self._bell, 4096)
        return ready

    def bereft(self, ready: set[int]) -> bool:
        """Whether the process that all is done for has ended."""
        return self._owner in ready

    def close(self) -> None:
        """What a fork must not share with the process it came from."""
        signal.set_wakeup_fd(-1)
        for end in (self._bell, self._rope):
            os.close(end)
