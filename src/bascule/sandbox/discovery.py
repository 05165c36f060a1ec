"""Discovery of the sandbox engines that work on this host, and removal of sandboxes whose runtime was killed."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bascule.core.errors import BasculeError, ConnectFailed
from bascule.sandbox.bubblewrap.engine import Bubblewrap
from bascule.sandbox.docker.api import Engine, socket_of
from bascule.sandbox.docker.engine import DockerEngine
from bascule.sandbox.docker.remove import reap as reap_containers
from bascule.sandbox.engines import CHOICE, KINDS, Engines, looked_for
from bascule.sandbox.owner import Owner, forget, left_behind


@dataclass(frozen=True, slots=True)
class Found:
    """The engines that answered. `close` ends what they have left."""

    engines: Engines

    async def close(self) -> None:
        for engine in self.engines.found:
            if isinstance(engine, DockerEngine):
                await engine.close()


async def find_engines(environ: Mapping[str, str], owner: Owner) -> Found:
    wanted = looked_for(environ)
    unwanted = {kind: f"{CHOICE}={environ.get(CHOICE, '')}" for kind in KINDS if kind not in wanted}
    tried = await asyncio.gather(*(_tried(kind, environ, owner) for kind in wanted))
    found = tuple(engine for engine, why in tried if engine is not None and not why)
    missing = {kind: why for kind, (_, why) in zip(wanted, tried, strict=True) if why}
    return Found(Engines(found, {**unwanted, **missing}))


async def _tried(kind: str, environ: Mapping[str, str], owner: Owner) -> tuple[Bubblewrap | DockerEngine | None, str]:
    try:
        engine = DockerEngine(owner, environ) if kind == "docker" else Bubblewrap(owner, environ)
        return engine, await engine.why_not()
    except BasculeError as error:
        return None, error.message


async def reap(state: Path, environ: Mapping[str, str]) -> list[str]:
    """Remove what runtimes have left that were killed: containers, networks, folders. What is theirs in the kernel went
    with them. Gives what is gone, by its name."""
    dead = [*left_behind(state)]
    try:
        gone = await reap_containers(Engine(socket_of(environ)), state)
    except ConnectFailed:
        # An engine that does not answer has nothing of ours that could be reached.
        gone = []
    for owner in dead:
        forget(state, owner)
    return [*gone, *(f"the folder of {owner}" for owner in dead)]
