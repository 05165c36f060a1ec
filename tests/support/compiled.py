"""Compiles the tests from the last one on, in a process of its own, while they are found from the first one on.

Where nothing is compiled yet, as on a fresh clone, most of the time that finding the tests takes is pytest's rewriting of
their asserts, which one processor does while the other is idle.
"""

import os
import signal
import sys
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path

import pytest
from _pytest.assertion import rewrite


@contextmanager
def beside(config: pytest.Config, files: Iterable[Path]) -> Generator[None]:
    """At the end it is told to stop, and is at one file at most."""
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException):
            compile_missing(config, _until_told(sorted(files, reverse=True)))
        os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)


def _until_told(files: Iterable[Path]) -> Iterator[Path]:
    told: list[object] = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    return takewhile(lambda _: not told, files)


def compile_missing(config: pytest.Config, files: Iterable[Path]) -> None:
    """What is there but out of date is left to who finds it."""
    if sys.dont_write_bytecode:
        return
    for file in files:
        kept = rewrite.get_cache_dir(file) / (file.stem + rewrite.PYC_TAIL)
        if kept.exists():
            continue
        stamp, code = rewrite._rewrite_test(file, config)
        if rewrite.try_makedirs(kept.parent):
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, stamp, kept)
