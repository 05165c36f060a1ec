"""What servers that are processes have in common, with a process that is played."""

import asyncio
from typing import Any

import pytest

from bascule.core.errors import ConnectionLost
from bascule.sandbox.factory import Ordering, ServerBox
from bascule.transports.process.dispatcher import ProcessDispatcher
from support.box_engines import NotingEngine
from support.boxes import ordered
from support.runtime import settled


class Played(ProcessDispatcher):
    """A process that ends when it is let go."""

    def __init__(self, box: ServerBox | None = None, **more: Any) -> None:
        super().__init__(box, max_message=1000, hidden=("s3cret",), **more)
        self.endings = 0
        self.let_go = asyncio.Event()
        self.fails = False

    async def _end_process(self, grace: float) -> None:
        self.endings += 1
        await self.let_go.wait()
        if self.fails:
            raise OSError("it does not end")


class Pipe:
    """What carries the conversation."""

    def __init__(self, backlog: int) -> None:
        self.backlog = backlog

    def cut(self) -> None:
        self.backlog = 0


async def a_box() -> tuple[ServerBox, NotingEngine]:
    engine = NotingEngine()
    order = ordered("server")
    box = Ordering(engine, order).of(order.command)
    await box.open()
    return box, engine


async def test_lines_are_told_with_the_number_of_the_process_and_kept_without_secrets():
    server, told = Played(), list[tuple[int, str]]()
    server.on_line = lambda pid, line: told.append((pid, line))
    server.said(b"before it is known\n")
    server.pid = 7
    server.said(b"the s3cret\nand the la")
    server.said(b"st of it")
    server.said_all()

    assert told == []  # told later: who listens is not waited for
    await settled()
    assert told == [(0, "before it is known"), (7, "the ***"), (7, "and the last of it")]
    assert server.evidence() == "before it is known\nthe ***\nand the last of it"


async def test_where_nobody_listens_it_is_kept_all_the_same():
    server = Played()
    server.said(b"help")
    server.said_all()
    assert server.evidence() == "help"


async def test_it_ends_once_however_many_ask_and_whoever_stops_waiting():
    box, engine = await a_box()
    server = Played(box)
    first = asyncio.create_task(server.close(1.0))
    second = asyncio.create_task(server.close(1.0))
    await settled()
    first.cancel()
    await settled()
    assert engine.did == ["open sealed"]

    server.let_go.set()
    await second
    assert (server.endings, engine.did) == (1, ["open sealed", "close sealed"])
    assert isinstance(await server.lost, ConnectionLost)


async def test_its_box_is_closed_even_if_it_does_not_end():
    box, engine = await a_box()
    server = Played(box)
    server.fails = True
    server.let_go.set()
    with pytest.raises(OSError, match="does not end"):
        await server.close(1.0)
    assert engine.did == ["open sealed", "close sealed"]


async def test_what_was_written_and_not_taken_is_known_and_can_be_cut():
    server = Played()
    assert not server._backlog()
    server._carrier = Pipe(3)
    assert server._backlog()
    server._cut()
    assert not server._backlog()
