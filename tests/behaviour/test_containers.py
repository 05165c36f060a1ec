"""Servers in containers that somebody else runs: reached by name, with their two outputs taken apart."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.core.outcome import FailureKind
from support.command import bascule
from support.docker import Container, reached
from support.runtime import bad, good
from support.scenarios import entry, from_file, write_yaml


@pytest.fixture(scope="module")
def box() -> Iterator[Container]:
    with reached() as engine, engine.container() as container:
        yield container


@pytest.mark.requirement("TRN-4")
@pytest.mark.long
async def test_a_server_in_a_container_answers_among_all_that_it_says_beside(box: Container, tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("loud", container=box.name)})
    orders = [{"text": f"call {number}", "lines": 100} for number in range(16)]
    async with from_file(path) as session:
        outcomes = await asyncio.gather(*(session.call("work_act", order) for order in orders))
        long = good(await session.call("work_act", {"size": 8_000_000, "lines": 500}))

    assert [good(outcome).text for outcome in outcomes] == [order["text"] for order in orders]
    assert long.text == "x" * 8_000_000
    assert box.processes() == {}


@pytest.mark.requirement("TRN-4")
async def test_it_runs_in_the_container_and_not_here(box: Container, tmp_path: Path):
    path = write_yaml(tmp_path, {"me": entry("mirror", container=box.name, cwd="/usr", env={"TOKEN": "t"})})
    async with from_file(path) as session:
        seen = good(await session.call("me_look")).structured
        (running,) = box.processes().values()

    assert seen["cwd"] == "/usr"
    assert (seen["env"]["TOKEN"], seen["env"]["PATH"]) == ("t", "/usr/bin:/bin")
    assert "tests/servers/" in running


@pytest.mark.requirement("TRN-4")
async def test_a_container_that_is_not_there_is_told_with_what_to_do(box: Container, tmp_path: Path):
    path = write_yaml(tmp_path, {"work": entry("loud", container="nobody")})
    async with from_file(path) as session:
        bad(await session.call("work_act", {}), FailureKind.CONNECTION_ERROR)
    listed = await bascule(tmp_path, "list", env={"DOCKER_HOST": box.engine.host})

    assert "there is no container nobody" in listed.out + listed.err
    assert "docker ps" in listed.out + listed.err
