"""The end of a container of ours: whatever runs in it is killed, and nothing is left of it but what it had mounted."""

import asyncio

from bascule.core.errors import ConnectFailed, SandboxError
from bascule.sandbox.docker.engine import Engine, EngineRefused

PAUSE = 0.02
"""Seconds between two looks at a container that somebody else removes."""

GONE_WITHIN = 30.0
"""Seconds for a container to go. It takes a fifth of one."""


async def remove_container(engine: Engine, container: str) -> None:
    """Returns when it is gone, whoever removed it. Raises `SandboxError` if it may still be there."""
    try:
        async with asyncio.timeout(GONE_WITHIN):
            while True:
                if await _removed(engine, container):
                    return
                await asyncio.sleep(PAUSE)
    except TimeoutError as error:
        raise _stays(container, "the engine does not end it") from error
    except ConnectFailed as error:
        raise _stays(container, error.message) from error


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
