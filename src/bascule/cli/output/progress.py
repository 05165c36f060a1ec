"""Progress line on the terminal: the servers and tools that a command waits for, with the seconds. Drawn after 1 s,
and erased before any other output."""

import os
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, TextIO, cast

from bascule.cli.output.errors import legible
from bascule.core.events import LinkChanged
from bascule.upstream.state import LinkState

AFTER = 1.0
"""Seconds that need no word."""

EVERY = 0.2
"""Seconds between two looks."""

_ERASE = "\r\x1b[2K"


class Progress:
    """What is being done now, each with the time since when. A thread draws it: some of what takes long is no
    coroutine."""

    def __init__(self, stream: TextIO, title: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._title = title
        self._clock = clock
        self._began = clock()
        self._doing: dict[str, tuple[str, float]] = {}
        self._lock = threading.RLock()
        self._over = threading.Event()
        self._silent = 0
        self._shown = False
        self.fresh = True
        """The cursor is at the beginning of a line."""

    def doing(self, subject: str, words: str) -> None:
        with self._lock:
            since = self._doing[subject][1] if subject in self._doing else self._clock()
            self._doing[subject] = (words, since)

    def done(self, subject: str) -> None:
        with self._lock:
            self._doing.pop(subject, None)

    def line(self, columns: int) -> str:
        """What is shown now, cut to the width of the terminal."""
        now = self._clock()
        with self._lock:
            parts = [f"{subject}: {words} {now - since:.0f} s" for subject, (words, since) in self._doing.items()]
        text = legible(" · ".join(parts) or f"{self._title} {now - self._began:.0f} s").replace("\n", " ")
        return text if len(text) < columns else f"{text[: columns - 2]}…"

    def draw(self) -> None:
        with self._lock:
            if self._silent == 0 and self.fresh:
                self._stream.write(_ERASE + self.line(_columns(self._stream)))
                self._stream.flush()
                self._shown = True

    @contextmanager
    def around(self) -> Generator[None]:
        """Within it something else is written, and the line is not there."""
        with self._lock:
            self.erase()
            yield

    @contextmanager
    def silence(self) -> Generator[None]:
        """Within it a person is asked, and nothing is drawn."""
        with self._lock:
            self._silent += 1
            self.erase()
        try:
            yield
        finally:
            with self._lock:
                self._silent -= 1

    def erase(self) -> None:
        if self._shown:
            self._shown = False
            self._stream.write(_ERASE)
            self._stream.flush()

    def run(self) -> None:
        wait = AFTER
        while not self._over.wait(wait):
            self.draw()
            wait = EVERY

    def stop(self) -> None:
        """For good. What runs until it is ended waits for nothing any more."""
        self._over.set()
        with self._lock:
            self._silent += 1
            self.erase()


class Beside:
    """A stream of the same terminal: what is written to it takes the place of the line."""

    def __init__(self, stream: TextIO, progress: Progress) -> None:
        self._beside = stream
        self._progress = progress

    def write(self, text: str) -> int:
        with self._progress.around():
            if text:
                # A line may be written in pieces.
                self._progress.fresh = text.endswith("\n")
            return self._beside.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._beside, name)


def _columns(stream: TextIO) -> int:
    """Those of the terminal that is drawn on: stdout may be something else."""
    try:
        # A terminal that does not know its width says 0.
        return os.get_terminal_size(stream.fileno()).columns or 80
    except OSError:
        return 80


_current: list[Progress] = []
"""That of the command that runs, if it has one."""


@contextmanager
def shown_for(title: str) -> Generator[None]:
    """Within it, what is waited for is shown on stderr, which is a terminal."""
    out, err = sys.stdout, sys.stderr
    progress = Progress(err, title)
    thread = threading.Thread(target=progress.run, name="bascule-progress", daemon=True)
    _current.append(progress)
    sys.stderr = cast("TextIO", Beside(err, progress))
    if out.isatty():
        sys.stdout = cast("TextIO", Beside(out, progress))
    thread.start()
    try:
        yield
    finally:
        progress.stop()
        thread.join()
        _current.remove(progress)
        sys.stdout, sys.stderr = out, err


def doing(subject: str, words: str) -> None:
    for progress in _current:
        progress.doing(subject, words)


def done(subject: str) -> None:
    for progress in _current:
        progress.done(subject)


def settled() -> None:
    """The command waits for nothing any more, though it goes on."""
    for progress in _current:
        progress.stop()


@contextmanager
def asking() -> Generator[None]:
    """Within it a person is asked."""
    if not _current:
        yield
        return
    with _current[-1].silence():
        yield


def follow(event: Any) -> None:
    """A sink: what the links tell."""
    if isinstance(event, LinkChanged):
        if event.state == LinkState.CONNECTING:
            doing(event.server, f"starting ({event.reason})" if event.reason else "starting")
        else:
            done(event.server)


def tool_progress(tool: str) -> Callable[[float, float | None, str | None], None]:
    """Shows what a tool says of how far it has come."""

    def tell(progress: float, total: float | None, message: str | None) -> None:
        far = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        doing(tool, f"{message} ({far})" if message else far)

    return tell
