"""Servers that nobody here wrote, in images that know nothing of us, by every lane."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.request import Request
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.factory import ServerBox
from bascule.transports.process.docker_exec import DockerExecDispatcher
from bascule.upstream.link import Link
from support.boxes import docker
from support.docker import running_engine
from support.docker_boxes import an_order
from support.images import EVERYTHING, SERVER, node_image, python_image
from support.links import a_link, a_plan
from support.servers import CAP
from support.waiting import fail_after

pytestmark = pytest.mark.long


@pytest.fixture
async def boxes(tmp_path: Path) -> AsyncGenerator[DockerEngine]:
    async with docker(tmp_path / "state") as engine:
        yield engine


@asynccontextmanager
async def link_to(boxes: DockerEngine, lane: Lane, image: str, *argv: str) -> AsyncGenerator[Link]:
    order = an_order(lane, *argv, image=image)
    environ = {"DOCKER_HOST": running_engine().host}

    def dial() -> DockerExecDispatcher:
        return DockerExecDispatcher(ServerBox(boxes, order), max_message=CAP, environ=environ)

    link = a_link(replace(a_plan(dial, connect=60.0, probe=10.0)))
    link.start()
    try:
        async with fail_after(120, "the life of a link"):
            await link.opened()
            yield link
    finally:
        await link.close()


def a_call(tool: str, **arguments: object) -> Request:
    return Request("tools/call", {"name": tool, "arguments": arguments}, 30.0)


async def test_a_python_server_of_an_image_starts_in_every_lane(boxes: DockerEngine):
    image = python_image(running_engine())
    for lane in Lane:
        async with link_to(boxes, lane, image, SERVER) as link:
            result = await link.send(a_call("get_current_time", timezone="Europe/Paris"))
        assert "Europe/Paris" in result["content"][0]["text"]


async def test_a_node_server_of_an_image_starts_in_every_lane(boxes: DockerEngine):
    image = node_image(running_engine())
    for lane in Lane:
        async with link_to(boxes, lane, image, *EVERYTHING) as link:
            result = await link.send(a_call("echo", message="hello"))
        assert "hello" in result["content"][0]["text"]
