"""Much at once from a server behind a wall: many calls, long results and noise on stderr, and all of it arrives whole."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

import pytest

from bascule.config import ContainerTransport, ServerConfig
from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.engine import Engine
from bascule.transports.factory import dispatcher_for
from bascule.transports.process.docker_exec import DockerExecDispatcher
from support.boxes import Link, link_to, ordered
from support.boxes import engine as engine  # noqa: PLC0414 -- a fixture
from support.docker import reached
from support.servers import CAP, argv, opened
from support.streams import a_request
from support.waiting import until

EIGHT = 8 * 1000 * 1000
CALLS, LINES = 50, 100
LONG = (10, 30)
"""Which of the calls have long results: one is under way when others are, before it and after it."""

PATIENCE = 60.0


def orders() -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = [{"text": f"call {number}", "lines": LINES} for number in range(CALLS)]
    for place in LONG:
        made[place]["size"] = EIGHT
    return made


async def all_of_it_arrives_whole(link: Link) -> None:
    told: list[str] = []
    link.on_line = lambda _pid, line: told.append(line)
    async with opened(link, PATIENCE):
        asked = (a_request("tools/call", PATIENCE, params={"name": "act", "arguments": order}) for order in orders())
        results = await asyncio.gather(*map(link.send, asked))
        await until(lambda: len(told) == CALLS * LINES)

    texts = [result["content"][0]["text"] for result in results]
    assert [texts[place] for place in LONG] == ["x" * EIGHT] * len(LONG)
    short = [number for number in range(CALLS) if number not in LONG]
    assert [texts[number] for number in short] == [f"call {number}" for number in short]
    assert sorted(told) == sorted(
        f"line {number} about {order['text']}" for order in orders() for number in range(LINES)
    )
    assert link.evidence() != ""
    assert link.counters.garbage == 0


@pytest.mark.parametrize("lane", [Lane.OPEN, Lane.SEALED])
@pytest.mark.long
async def test_fifty_calls_long_results_and_five_thousand_lines_arrive_whole_from_a_box(engine: Engine, lane: Lane):
    await all_of_it_arrives_whole(link_to(engine, ordered(*argv("loud"), lane=lane), max_message=2 * CAP))


@pytest.fixture
def container() -> Iterator[str]:
    """Somebody's own, in which nothing else runs: neither before nor after."""
    with reached() as engine, engine.container() as made:
        assert made.processes() == {}
        yield made.name
        assert made.processes() == {}


@pytest.mark.long
async def test_and_from_a_container_that_was_there_before(container: str):
    program, *arguments = argv("loud")
    server = ServerConfig("work", ContainerTransport(container, program, tuple(arguments)))
    link = dispatcher_for(server, max_message=2 * CAP, environ=os.environ)
    assert isinstance(link, DockerExecDispatcher)
    await all_of_it_arrives_whole(link)
