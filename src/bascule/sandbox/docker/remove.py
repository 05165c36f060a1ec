"""Removal of containers: of one sandbox, and of all whose runtime has died. Containers are found by label; those
without Bascule's labels, or of another state folder, are never touched."""

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bascule.core.errors import ConnectFailed, SandboxError
from bascule.core.json_types import JsonObject, as_array, as_object
from bascule.sandbox.docker.api import Engine, EngineRefused
from bascule.sandbox.docker.labels import LANE, OWNER, PRINCIPAL, SERVER, STATE, state_name
from bascule.sandbox.docker.network import remove_network
from bascule.sandbox.owner import RUN, left_behind

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
        # With its anonymous volumes: overlays of a private lane. A workspace is no volume, and outlives the sandbox.
        await engine.ask("DELETE", f"/containers/{container}?force=true&v=true", within=GONE_WITHIN)
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
        fix=f"docker rm --force {container} --volumes",
    )


@dataclass(frozen=True, slots=True)
class FoundBox:
    """A container of ours, as an engine tells of it."""

    id: str
    name: str
    owner: str
    state: str
    """What its owner's state folder is called."""
    server: str
    lane: str
    principal: str
    """What stands for whoever it is for."""
    running: bool
    created: float
    """When, in seconds since 1970."""


async def boxes_of(engine: Engine) -> list[FoundBox]:
    """All boxes that an engine has, of whichever runtime and state folder. Raises `ConnectFailed`."""
    listed = await engine.listed(f"/containers/json?all=true&{_with_label(OWNER)}")
    return sorted((_found(each) for each in listed), key=lambda box: (box.created, box.name))


async def reap(engine: Engine, state: Path) -> list[str]:
    """Remove the boxes and networks of runtimes of this state folder that are dead. Gives the names of what is gone.
    Raises `ConnectFailed` if the engine cannot be asked; what it does not let go stays for the next time."""
    ours = state_name(state)
    gone: list[str] = []
    for box in await boxes_of(engine):
        if box.state == ours and is_dead(state, box.owner):
            with suppress(SandboxError):
                await remove_container(engine, box.id)
                gone.append(box.name)
    for network in await engine.listed(f"/networks?{_with_label(f'{STATE}={ours}')}"):
        owner = str(as_object(network.get("Labels")).get(OWNER, ""))
        if is_dead(state, owner) and await remove_network(engine, str(network.get("Id", ""))):
            gone.append(str(network.get("Name", "")))
    return gone


async def remove(engine: Engine, name: str) -> bool:
    """Remove one box, whether its runtime lives or not. False, and nothing is touched, if that is no box of ours."""
    box = next((box for box in await boxes_of(engine) if name in {box.name, box.id}), None)
    if box is not None:
        await remove_container(engine, box.id)
    return box is not None


def is_dead(state: Path, owner: str) -> bool:
    """Whether a runtime of this state folder is gone: it has left its lock behind, or not even that."""
    return owner in left_behind(state) or not (state / RUN / owner).exists()


def _with_label(label: str) -> str:
    return f"filters={quote(json.dumps({'label': [label]}))}"


def _found(told: JsonObject) -> FoundBox:
    labels = as_object(told.get("Labels"))
    names = [str(name).lstrip("/") for name in as_array(told.get("Names"))]
    created = told.get("Created")
    return FoundBox(
        id=str(told.get("Id", "")),
        name=names[0] if names else "",
        owner=str(labels.get(OWNER, "")),
        state=str(labels.get(STATE, "")),
        server=str(labels.get(SERVER, "")),
        lane=str(labels.get(LANE, "")),
        principal=str(labels.get(PRINCIPAL, "")),
        running=told.get("State") == "running",
        created=float(created) if isinstance(created, int | float) else 0.0,
    )
