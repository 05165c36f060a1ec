"""Runs the tests by several hands: all are found once, and each hand is a fork of the process that has found them.

Hands that look for the tests by themselves each import all of ours and of five frameworks first, which takes as long as
thousands of small tests do. `--hands 5` makes five of them; without it pytest runs the tests itself.
"""

import atexit
import os
import signal
import threading
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import groupby
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, NoReturn

import coverage
import pytest
from _pytest.capture import FDCapture

GROUP = 16
"""Tests of one file that a hand takes at once: what a file sets up is set up once for them. Of too many the last hand would
be left with a long rest."""

Group = tuple[int, ...]
"""The numbers of tests, in the order in which they were found."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--hands", type=int, default=0, help="run the tests in so many processes, forked when all are found"
    )


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    hands = session.config.option.hands
    if not hands or session.testsfailed or session.config.option.collectonly:
        return None
    Crew(session, hands).run()
    return True


def groups(files: Sequence[object], most: int = GROUP) -> list[Group]:
    """Neighbours of one file, up to so many."""
    found: list[Group] = []
    for _, numbers in groupby(range(len(files)), key=lambda number: files[number]):
        one = tuple(numbers)
        found += [one[start : start + most] for start in range(0, len(one), most)]
    return found


@dataclass(eq=False)
class Hand:
    """A fork, and what it has been given and not told the end of."""

    pid: int
    line: Connection
    given: deque[int] = field(default_factory=deque[int])


class Crew:
    """The process that found the tests. It hands them out and tells how they ended; it runs none itself, and so can be
    forked again when a hand is lost."""

    def __init__(self, session: pytest.Session, hands: int) -> None:
        self._session = session
        self._config = session.config
        self._waiting = deque(groups([item.path for item in session.items]))
        self._most = min(hands, len(self._waiting))
        self._hands: dict[Connection, Hand] = {}
        self._numbers = 0
        # Made here, so that the folders of all hands are removed with it.
        self._folder = _folders(self._config).getbasetemp()

    def run(self) -> None:
        try:
            while self._waiting or self._hands:
                while self._waiting and len(self._hands) < self._most and not self._stopped:
                    self._hire()
                if not self._hands:
                    break
                for line in wait([*self._hands]):
                    assert isinstance(line, Connection)
                    self._hear(self._hands[line])
        finally:
            for hand in self._hands.values():
                os.kill(hand.pid, signal.SIGKILL)
                os.waitpid(hand.pid, 0)
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    @property
    def _stopped(self) -> bool:
        return bool(self._session.shouldfail or self._session.shouldstop)

    def _hire(self) -> None:
        if _threads() > 1:
            pytest.exit("something that the tests import has started a thread, which no hand would have", 1)
        ours, theirs = _lines()
        self._numbers += 1
        pid = os.fork()
        if pid == 0:
            for line in (ours, *self._hands):
                line.close()
            _work(self._session, theirs, self._folder / f"hand-{self._numbers}")
        theirs.close()
        self._hands[ours] = Hand(pid, ours)

    def _hear(self, hand: Hand) -> None:
        try:
            reports: list[dict[str, Any]] | None = hand.line.recv()
        except (EOFError, OSError):
            self._leave(hand)
            return
        if reports is None:
            group = () if self._stopped or not self._waiting else self._waiting.popleft()
            hand.given += group
            hand.line.send(group)
        else:
            self._tell(self._session.items[hand.given.popleft()], reports)

    def _tell(self, item: pytest.Item, reports: list[dict[str, Any]]) -> None:
        hook = self._config.hook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=self._config, data=data))
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _leave(self, hand: Hand) -> None:
        """It has no more to do, or is lost together with the test it was at."""
        del self._hands[hand.line]
        hand.line.close()
        _, status = os.waitpid(hand.pid, 0)
        if not hand.given:
            return
        item = self._session.items[hand.given.popleft()]
        if hand.given:
            self._waiting.appendleft(tuple(hand.given))
        told = f"the process that ran this test was lost: {_ending(status)}"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", told, "call")
        self._config.hook.pytest_runtest_logreport(report=report)


def _lines() -> tuple[Connection, Connection]:
    ours, theirs = Pipe()
    assert isinstance(ours, Connection)
    assert isinstance(theirs, Connection)
    return ours, theirs


def _threads() -> int:
    """As the kernel has them: those of libraries too."""
    tasks = Path("/proc/self/task")
    return len([*tasks.iterdir()]) if tasks.exists() else threading.active_count()


def _ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"it was ended by {signal.Signals(-code).name}" if code < 0 else f"it ended with {code}"


def _folders(config: pytest.Config) -> Any:
    """What makes `tmp_path`. Pytest gives it out in tests only."""
    return config._tmp_path_factory  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]


def _work(session: pytest.Session, line: Connection, folder: Path) -> NoReturn:
    code = 1
    try:
        # What the process has still to do that found the tests is not ours.
        atexit._clear()
        _move_in(session.config, folder)
        Worker(session, line).run()
        with suppress(BrokenPipeError):
            line.close()
        threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue] -- as Python does at its end
        atexit._run_exitfuncs()
        if (counting := coverage.Coverage.current()) is not None:
            counting.stop()
            counting.save()
        code = 0
    finally:
        os._exit(code)


def _move_in(config: pytest.Config, folder: Path) -> None:
    """Folders and streams of its own."""
    made = _folders(config)
    made._given_basetemp, made._basetemp = folder, None
    for name in ("terminalreporter", "skip-ledger"):
        config.pluginmanager.unregister(name=name)
    capturing: Any = config.pluginmanager.getplugin("capturemanager")
    for stream in (capturing._global_capturing.out, capturing._global_capturing.err):
        if isinstance(stream, FDCapture):
            # Another file behind the same object: some that were imported have kept that as the stream to write to.
            with TemporaryFile() as own:
                os.dup2(own.fileno(), stream.tmpfile.fileno())


class Worker:
    """Runs what it is handed, and tells all of a test in one word, at its end."""

    def __init__(self, session: pytest.Session, line: Connection) -> None:
        self._session = session
        self._config = session.config
        self._line = line
        self._times = self._config.option.durations is not None
        self._reports: list[dict[str, Any]] = []

    def run(self) -> None:
        self._config.pluginmanager.register(self)
        given = deque(self._asked())
        while given:
            number = given.popleft()
            if not given:
                # What the test has set up stays if the next one uses it too.
                given += self._asked()
            item = self._session.items[number]
            following = self._session.items[given[0]] if given else None
            self._config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            self._line.send(self._reports)
            self._reports = []

    def _asked(self) -> Group:
        self._line.send(None)
        group: Group = self._line.recv()
        return group

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.passed and report.when != "call" and not self._times:
            return  # two of three, of which nobody is told anything
        data: dict[str, Any] = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._reports.append(data)
