import asyncio
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from bascule.gateway.workers.supervisor import READY, RETIRE, STOP, WorkerLine
from support.waiting import fail_after, until


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
