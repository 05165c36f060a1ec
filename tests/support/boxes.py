"""Real engines for tests of boxes: one body of a test runs in each engine that is there."""

import os
import sys
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from bascule.config.model.sandbox import Sandbox
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.bubblewrap.engine import Bubblewrap
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.factory import Ordering
from bascule.sandbox.mounts.host import this_machine
from bascule.sandbox.mounts.layout import laid_out
from bascule.sandbox.owner import Owner
from bascule.sandbox.process.child import Command
from bascule.sandbox.process.environment import child_environment
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import Ended, Engine
from bascule.sandbox.spec.launch_request import Order
from bascule.transports.process.docker_exec import DockerExecDispatcher
from bascule.transports.process.stdio import StdioDispatcher
from support.bwrap import skip_without_bubblewrap
from support.docker import reached
from support.docker_boxes import docker_boxes
from support.servers import CAP

WITHIN = 60.0
"""Seconds for anything that is run in a box here, on a machine that is busy with other things."""


@asynccontextmanager
async def bubblewrap(state: Path) -> AsyncGenerator[Bubblewrap]:
    skip_without_bubblewrap()
    owner = Owner(state)
    try:
        engine = Bubblewrap(owner, os.environ)
        assert await engine.why_not() == ""
        yield engine
    finally:
        owner.release()


@asynccontextmanager
async def docker(state: Path) -> AsyncGenerator[DockerEngine]:
    with reached() as daemon:
        async with docker_boxes(state, daemon.host) as engine:
            assert await engine.why_not() == ""
            yield engine


ENGINES: dict[str, Callable[[Path], AbstractAsyncContextManager[Engine]]] = {"bubblewrap": bubblewrap, "docker": docker}
"""By its name, each engine, for as long as the block lasts. It is given a folder for its state."""


@pytest.fixture(params=ENGINES)
async def engine(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Engine]:
    async with ENGINES[request.param](tmp_path / "state-of-boxes") as made:
        yield made


def ordered(
    *argv: str, lane: Lane = Lane.SEALED, env: Mapping[str, str] | None = None, cwd: str | None = None, **more: Any
) -> Order:
    """An order for a server called `probe`."""
    command = Command(argv, child_environment(env or {}, (), os.environ), cwd)
    settings = more.pop("settings", Sandbox())
    return Order("probe", lane, Principal("somebody", "s-1"), command, settings, **more)


def boxed(order: Order) -> Box:
    return laid_out(order, this_machine(os.environ), f"probe-{os.urandom(6).hex()}")


Link = StdioDispatcher | DockerExecDispatcher


def link_to(engine: Engine, order: Order, *, max_message: int = CAP) -> Link:
    """The way to a server in a box that is made when it is opened."""
    box = Ordering(engine, order).of(order.command)
    if engine.kind == "docker":
        return DockerExecDispatcher(box, max_message=max_message, environ=os.environ)
    return StdioDispatcher(box, max_message=max_message)


async def run_in(engine: Engine, order: Order, timeout: float = WITHIN) -> Ended:
    """Run what is ordered to its end, in a box of its own."""
    return await engine.run(boxed(order), timeout)


def python(code: str, *args: str) -> Sequence[str]:
    """A small program, for inside a box: the standard library alone."""
    return (os.path.realpath(sys.executable), "-I", "-S", "-c", code, *args)
