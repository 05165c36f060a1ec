"""A real container engine, and boxes by it."""

from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.engine import DockerEngine
from support import docker
from support.docker_boxes import docker_boxes


@pytest.fixture(scope="session")
def daemon() -> Iterator[docker.DockerEngine]:
    with docker.reached() as engine:
        yield engine


@pytest.fixture
def real(daemon: docker.DockerEngine) -> Engine:
    return Engine(str(daemon.socket))


@pytest.fixture
async def boxes(daemon: docker.DockerEngine, tmp_path: Path) -> AsyncGenerator[DockerEngine]:
    async with docker_boxes(tmp_path / "state", daemon.host) as made:
        yield made
