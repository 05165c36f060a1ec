"""An engine that crashes and comes back, with its containers as they were or without: its servers are not left over."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.core.outcome import FailureKind
from integration.test_docker_exec import dispatcher_to, inside, reason_of, session_with, text_of
from support.docker import Container, DockerEngine, as_found, engine_of_its_own
from support.servers import opened
from support.waiting import until


@pytest.fixture(scope="module")
def engine() -> Iterator[DockerEngine]:
    # What runs goes on while the engine is away.
    with engine_of_its_own("--live-restore") as engine, as_found(engine):
        yield engine


@pytest.fixture
def box(engine: DockerEngine) -> Iterator[Container]:
    with engine.container() as container:
        yield container


@pytest.mark.long
async def test_a_server_whose_engine_crashed_is_not_left_beside_the_next_one(box: Container, tmp_path: Path):
    async with session_with(inside(box.name, "obeying", tmp_path / "log"), tmp_path) as session:
        await session.call("work_act", {"pid": True})
        (first,) = box.processes()
        pending = asyncio.create_task(session.call("work_act", {"silent": True}))
        await until(lambda: "silent" in (tmp_path / "log").read_text())
        await asyncio.to_thread(box.engine.crash)
        assert reason_of(await pending).kind is FailureKind.CONNECTION_ERROR
        await asyncio.to_thread(box.engine.until_up)

        text_of(await session.call("work_act", {"pid": True}))
        (second,) = box.processes()
        assert first != second
    assert box.processes() == {}


@pytest.mark.long
async def test_what_is_closed_after_its_engine_came_back_is_ended_although_the_engine_has_forgotten_it(box: Container):
    dispatcher = dispatcher_to(inside(box.name, "stubborn"))
    async with opened(dispatcher):
        assert len(box.processes()) == 1
        await asyncio.to_thread(box.engine.crash)
        await asyncio.to_thread(box.engine.until_up)
        await asyncio.shield(dispatcher.lost)
        # It pays no heed to the end of its input, and nobody has told it to end.
        assert len(box.processes()) == 1
    assert box.processes() == {}
