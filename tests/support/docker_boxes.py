"""Boxes by a real container engine, each test with an owner and a state folder of its own."""

import os
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bascule.config.model.sandbox import Sandbox
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.docker.api import Engine, started
from bascule.sandbox.docker.attach import listening_to
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.mounts.host import this_machine
from bascule.sandbox.owner import Owner
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.engine import Run
from bascule.sandbox.spec.launch_request import Order
from support.waiting import fail_after

ALICE = Principal("alice", "s-1")


@asynccontextmanager
async def docker_boxes(state: Path, host: str) -> AsyncGenerator[DockerEngine]:
    """An engine for boxes at a socket. Nothing is left of them at the end."""
    environ = {**os.environ, "DOCKER_HOST": host, "BASCULE_HOME": str(state)}
    owner = Owner(state)
    engine = DockerEngine(owner, environ, this_machine(environ))
    try:
        async with fail_after(120, "the life of boxes"):
            yield engine
    finally:
        await engine.close()
        owner.release()


def an_order(lane: Lane, *argv: str, workspace: Path | None = None, **settings: Any) -> Order:
    env = {"PATH": os.environ["PATH"], **settings.pop("env", {})}
    shown = str(workspace) if workspace is not None else None
    return Order("files", lane, ALICE, Command(argv, env), Sandbox(**settings), workspace=shown)


def python(code: str, *args: str) -> Sequence[str]:
    return (os.path.realpath(sys.executable), "-I", "-S", "-c", code, *args)


async def said(engine: Engine, run: Run) -> str:
    """What something says that runs to its end."""
    run_id = await engine.prepare(run)
    async with listening_to(engine, *started(run_id)) as ear:
        ear.end_input()
        await ear.to_the_end()
    return ear.text
