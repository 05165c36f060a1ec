"""Workers as their supervisor keeps them: small programs that say that they are ready, and end when they are told to."""

import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bascule.gateway.workers import supervisor as module
from bascule.gateway.workers.supervisor import READY, RETIRE, STOP, NotStarted, Supervisor, WorkerLine
from support.processes import ended
from support.waiting import fail_after, until

PROGRAM = """
import os, socket, sys
line = socket.socket(fileno=int(sys.argv[1]))
said = open(sys.argv[2]).read().strip()
if said == "fail":
    sys.exit(7)
if said == "deaf":
    line.send(b"ready\\n")
    while True:
        line.recv(10)
line.send(b"ready\\n")
word = line.recv(100)
with open(sys.argv[2] + ".words", "a") as words:
    words.write(word.decode() or "nobody\\n")
"""


class Kept:
    """A supervisor, what it told, and what its workers were told."""

    def __init__(self, folder: Path, inherited: socket.socket) -> None:
        self._plan = folder / "plan"
        self.plan("serve")
        self.told: list[str] = []
        self.numbers: list[int] = []
        self.supervisor = Supervisor(self._command, [inherited], self.told.append)

    def plan(self, said: str) -> None:
        self._plan.write_text(said)

    def _command(self, line: int, number: int) -> list[str]:
        self.numbers.append(number)
        return [sys.executable, "-I", "-S", "-c", PROGRAM, str(line), str(self._plan)]

    @property
    def words(self) -> list[str]:
        path = Path(f"{self._plan}.words")
        return path.read_text().split() if path.exists() else []

    @property
    def pids(self) -> set[int]:
        return {worker.pid for worker in self.supervisor.serving}


@asynccontextmanager
async def kept(folder: Path) -> AsyncGenerator[Kept]:
    with socket.create_server(("127.0.0.1", 0)) as inherited:
        made = Kept(folder, inherited)
        async with fail_after(60, "a supervisor"):
            try:
                yield made
            finally:
                await made.supervisor.kill()


async def test_all_are_ready_and_end_when_they_are_told_to(tmp_path: Path):
    async with kept(tmp_path) as made:
        await made.supervisor.start(3)
        pids = made.pids
        assert len(pids) == 3
        await made.supervisor.stop()
        assert made.words == ["stop"] * 3
        for pid in pids:
            await ended(pid)
    assert made.told == []


async def test_one_that_cannot_start_is_told_with_its_code(tmp_path: Path):
    async with kept(tmp_path) as made:
        made.plan("fail")
        with pytest.raises(NotStarted) as caught:
            await made.supervisor.start(1)
        assert caught.value.exit_code == 7


async def test_one_that_dies_is_started_again_and_the_others_stay(tmp_path: Path):
    async with kept(tmp_path) as made:
        await made.supervisor.start(2)
        victim, other = sorted(made.pids)
        os.kill(victim, signal.SIGKILL)
        await until(lambda: len(made.pids - {victim}) == 2)
        assert other in made.pids
        assert made.told == [f"worker {victim} has ended with code -9; another one is started"]


async def test_each_has_a_number_of_its_own_while_it_lives(tmp_path: Path):
    async with kept(tmp_path) as made:
        await made.supervisor.start(3)
        assert sorted(made.numbers) == [0, 1, 2]
        victim = min(made.pids)
        os.kill(victim, signal.SIGKILL)
        await until(lambda: len(made.pids - {victim}) == 3)
        assert made.numbers[3] in {0, 1, 2}
        await made.supervisor.restart(1)
        assert made.numbers[4] == 3


async def test_one_that_cannot_come_back_is_tried_again_and_again(tmp_path: Path):
    async with kept(tmp_path) as made:
        await made.supervisor.start(1)
        (victim,) = made.pids
        made.plan("fail")
        os.kill(victim, signal.SIGKILL)
        await until(lambda: len(made.told) >= 3)
        made.plan("serve")
        await until(lambda: len(made.pids) == 1)


async def test_new_ones_are_ready_before_old_ones_go(tmp_path: Path):
    async with kept(tmp_path) as made:
        await made.supervisor.start(2)
        old = made.pids
        await made.supervisor.restart(3)
        assert len(made.pids) == 3
        assert not made.pids & old
        for pid in old:
            await ended(pid)
        assert made.words == ["retire"] * 2
        await made.supervisor.restart(1)
        assert len(made.pids) == 1


async def test_where_a_new_one_cannot_start_the_old_ones_stay(tmp_path: Path):
    async with kept(tmp_path) as made:
        await made.supervisor.start(2)
        old = made.pids
        made.plan("fail")
        await made.supervisor.restart(2)
        assert made.pids == old
        assert made.told == [
            "the old workers stay, since a new one cannot start: it ended with code 7 before it was ready"
        ]
        assert made.words == []


async def test_one_that_does_not_end_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "ENDING", 0.2)
    async with kept(tmp_path) as made:
        made.plan("deaf")
        await made.supervisor.start(1)
        (pid,) = made.pids
        await made.supervisor.stop()
        await ended(pid)


async def test_whoever_keeps_them_and_dies_is_heard_to_be_gone(tmp_path: Path):
    async with kept(tmp_path) as made:
        await made.supervisor.start(1)
        (worker,) = made.supervisor.serving
        worker.leaving = True
        worker.close()
        await ended(worker.pid)
        assert made.words == ["nobody"]


async def test_nobody_is_started_again_while_all_end(tmp_path: Path):
    async with kept(tmp_path) as made:
        await made.supervisor.start(1)
        await asyncio.gather(made.supervisor.stop(), made.supervisor.kill())
        assert made.pids == set()
    assert made.told == []


@asynccontextmanager
async def line() -> AsyncGenerator[tuple[socket.socket, WorkerLine, list[str]]]:
    theirs, ours = socket.socketpair()
    with theirs:
        made, heard = WorkerLine(ours), list[str]()
        made.listen(retire=lambda: heard.append("retire"), stop=lambda: heard.append("stop"))
        async with fail_after(10, "a word"):
            try:
                yield theirs, made, heard
            finally:
                await made.close()


async def test_it_says_that_it_is_ready():
    async with line() as (supervisor, worker, _):
        worker.ready()
        assert supervisor.recv(100) == READY


@pytest.mark.parametrize(
    ("words", "heard"), [(RETIRE, ["retire"]), (STOP, ["stop"]), (RETIRE + STOP, ["retire", "stop"])]
)
async def test_it_hears_when_to_go(words: bytes, heard: list[str]):
    async with line() as (supervisor, _, told):
        supervisor.send(words)
        await until(lambda: told == heard)


async def test_a_supervisor_that_is_gone_is_a_word_to_stop():
    async with line() as (supervisor, worker, told):
        supervisor.close()
        await until(lambda: told == ["stop"])
        worker.ready()


async def test_closed_it_hears_nothing():
    async with line() as (_, worker, told):
        await worker.close()
        await asyncio.sleep(0)
        assert told == []
