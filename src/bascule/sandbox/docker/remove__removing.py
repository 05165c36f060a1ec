"""The end of a container of ours: whatever runs in it is killed, and nothing is left of it but what it had mounted."""

import asyncio

from bascule.core.errors import ConnectFailed, SandboxError
from bascule.sandbox.docker.api import Engine, EngineRefused

PAUSE = 0.02
"""Seconds between two looks at a container that somebody else removes."""

GONE_WITHIN = 30.0
"""Seconds for a container to go. It takes a fifth of one."""


async def remove_container(engine: Engine, container: str, within: float | None = None) -> None:
    """Returns when it is gone, whoever removed it. An engine that cannot be reached may come back in that time. Raises
    `SandboxError` if it may still be there."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (GONE_WITHIN if within is None else within)
    while True:
        try:
            if await _removed(engine, container):
                return
            why = "somebody else is removing it"
        except EngineRefused as error:
            raise _stays(container, error.said) from error
        except ConnectFailed as error:
            why = error.message
        if loop.time() >= deadline:
            raise _stays(container, why)
        await asyncio.sleep(PAUSE)


async def _removed(engine: Engine, container: str) -> bool:
    try:
        # Never with its volumes: what a workspace holds outlives every box.
        await engine.ask("DELETE", f"/containers/{container}?force=true&v=false", within=GONE_WITHIN)
    except EngineRefused as error:
        if error.status == 404:
            return True
        # Somebody else is at it.
        if error.status == 409:
            return False
        raise
    return True


def _stays(container: str, evidence: str) -> SandboxError:
    return SandboxError(
        f"the box {container} could not be removed",
        where="box",
        evidence=evidence,
        cause="the container engine does not answer, or cannot end what runs there",
        fix=f"docker rm --force {container}",
    )
