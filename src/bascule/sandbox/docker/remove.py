"""Boxes whose runtime has died without closing them: found by their labels, and removed.

Nothing without our labels is ever touched, whatever it is called; and nothing of another state folder, since only there
it could be known whether its owner lives.
"""

import json
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from bascule.core.errors import SandboxError
from bascule.core.json_types import JsonObject, as_array, as_object
from bascule.sandbox.docker.api import Engine
from bascule.sandbox.docker.labels import LANE, OWNER, PRINCIPAL, SERVER, STATE, state_name
from bascule.sandbox.docker.network import remove_network
from bascule.sandbox.docker.remove__removing import remove_container
from bascule.sandbox.owner import RUN, left_behind


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
