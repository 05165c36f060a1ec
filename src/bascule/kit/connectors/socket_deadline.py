"""Deadline for a blocking socket: shuts it down when the time is up, which wakes the thread that waits on it."""

import contextlib
import os
import socket
import threading
from typing import Self


class Watch:
    """Closes what it was given when the time is up. `fired` says whether it did."""

    def __init__(self, seconds: float) -> None:
        self.fired = False
        self._sockets: list[socket.socket] = []
        self._lock = threading.Lock()
        self._timer = threading.Timer(seconds, self._fire)
        self._timer.daemon = True

    def over(self, fd: int) -> None:
        """Also this one, from now on. Its owner may close it meanwhile: what is watched is another name for it."""
        with self._lock:
            self._sockets.append(socket.socket(fileno=os.dup(fd)))
            if self.fired:
                self._shut()

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        with self._lock:
            for watched in self._sockets:
                watched.close()
            self._sockets.clear()

    def _fire(self) -> None:
        with self._lock:
            self.fired = True
            self._shut()

    def _shut(self) -> None:
        for watched in self._sockets:
            with contextlib.suppress(OSError):  # the other end was faster
                watched.shutdown(socket.SHUT_RDWR)
