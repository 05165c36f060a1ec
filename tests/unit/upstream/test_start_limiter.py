import asyncio
from typing import Any

import pytest

from bascule.core.errors import ConnectionLost
from bascule.upstream import start_limiter
from bascule.upstream.start_limiter import StartGate
from support.streams import Loopback
from support.waiting import fail_after


@pytest.fixture(autouse=True)
def a_place_is_held_for_long(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(start_limiter, "HOLD", 1000.0)


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


class Starts:
    """Servers that start as soon as the gate lets them."""

    def __init__(self, places: int) -> None:
        self.gate = StartGate(places)
        self.began: list[Loopback] = []
        self.tasks: list[asyncio.Task[None]] = []

    async def ask(self, count: int, error: BaseException | None = None) -> None:
        self.tasks += [asyncio.create_task(self._start(error)) for _ in range(count)]
        await settled()

    async def _start(self, error: BaseException | None) -> None:
        async with self.gate.turn() as started:
            dispatcher = Loopback()
            self.began.append(dispatcher)
            started(dispatcher)
            if error is not None:
                raise error

    async def end(self) -> None:
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def test_no_more_than_the_places_begin_in_the_first_moment():
    starts = Starts(3)
    await starts.ask(10)

    assert len(starts.began) == 3
    await starts.end()


async def test_a_place_is_free_again_a_moment_after_its_server_was_started(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(start_limiter, "HOLD", 0.01)
    starts = Starts(3)
    await starts.ask(10)

    async with fail_after(10, "ten starts"):
        await asyncio.gather(*starts.tasks)
    assert len(starts.began) == 10


@pytest.mark.parametrize(("kind", "began"), [("ws", 3), ("stdio", 1)])
async def test_a_server_elsewhere_keeps_no_place_while_it_does_not_answer(
    kind: str, began: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(start_limiter, "HOLD", 0.0)
    starting, turns = StartGate(1), 0

    async def start() -> None:
        nonlocal turns
        async with starting.turn() as started:
            turns += 1
            dispatcher = Loopback()
            dispatcher.kind = kind
            started(dispatcher)
            await asyncio.Event().wait()

    tasks = [asyncio.create_task(start()) for _ in range(3)]
    await settled()

    assert turns == began
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_a_death_frees_the_place_at_once():
    starts = Starts(1)
    await starts.ask(3)
    starts.began[0].lose(ConnectionLost("gone"))
    await settled()

    assert len(starts.began) == 2
    await starts.end()


@pytest.mark.parametrize("error", [ConnectionLost("gone"), ValueError("a bug"), asyncio.CancelledError()], ids=repr)
async def test_a_start_that_fails_frees_its_place_at_once(error: Any):
    starts = Starts(1)
    await starts.ask(5, error)

    assert len(starts.began) == 5
    await starts.end()


async def test_a_place_is_freed_once_however_often_its_server_ends():
    starts = Starts(1)
    await starts.ask(1, ConnectionLost("gone"))
    starts.began[0].lose(ConnectionLost("gone"))
    await settled()
    await starts.ask(3)

    assert len(starts.began) == 2
    await starts.end()


async def test_a_caller_who_stops_waiting_takes_no_place():
    starts = Starts(1)
    await starts.ask(2)
    starts.tasks[1].cancel()
    await starts.ask(1)
    starts.began[0].lose(ConnectionLost("gone"))
    await settled()

    assert len(starts.began) == 2
    await starts.end()
