"""Ends of pipes on the event loop, closed once."""

import asyncio
import os
from collections.abc import Callable
from threading import Event, Thread

import pytest
import uvloop

from bascule.sandbox.process.child import Child, Pipes
from bascule.sandbox.process.pipe_end import PipeEnd
from bascule.sandbox.process.supervised import Kept

CHILDREN = 1500
"""Children whose pipes are closed. With a second close of the same number, about one in a hundred of them hits a file of
another thread."""

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]


def open_and_close(over: Event, failures: list[OSError]) -> None:
    while not over.is_set():
        descriptor = os.open(os.devnull, os.O_RDONLY)
        try:
            os.fstat(descriptor)
            os.close(descriptor)
        except OSError as error:
            failures.append(error)


async def attach_and_close() -> None:
    for _ in range(CHILDREN):
        child = Child(Kept(), Pipes(asyncio.BaseProtocol(), asyncio.Protocol(), asyncio.Protocol()))
        await child.attach()
        await child.close(0)


@pytest.mark.parametrize("new_loop", LOOPS)
def test_closing_a_child_closes_no_file_of_another_thread(new_loop: Callable[[], asyncio.AbstractEventLoop]):
    over, failures = Event(), list[OSError]()
    threads = [Thread(target=open_and_close, args=(over, failures)) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(attach_and_close())
    finally:
        over.set()
        for thread in threads:
            thread.join()

    assert failures == []


@pytest.mark.parametrize("new_loop", LOOPS)
def test_bytes_pass_and_the_end_is_seen(new_loop: Callable[[], asyncio.AbstractEventLoop]):
    async def passed() -> bytes:
        reading, writing = os.pipe()
        loop, reader = asyncio.get_running_loop(), asyncio.StreamReader()
        out, _ = await loop.connect_write_pipe(asyncio.BaseProtocol, PipeEnd(writing, "wb"))
        back, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), PipeEnd(reading, "rb"))
        out.write(b"hello")
        out.close()
        found = await reader.read()
        back.close()
        return found

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(passed()) == b"hello"
