"""Inventory of one state folder: its sandboxes and package layers, and removal of one by name."""

import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import msgspec

from bascule.core.errors import ConnectFailed
from bascule.sandbox.bubblewrap.engine import BOXES, strike
from bascule.sandbox.docker.api import Engine, socket_of
from bascule.sandbox.docker.labels import state_name
from bascule.sandbox.docker.remove import boxes_of, is_dead, remove
from bascule.sandbox.owner import RUN
from bascule.sandbox.prepare.cache import Shelf
from bascule.sandbox.prepare.prepare import FOLDER


class ListedBox(msgspec.Struct, frozen=True):
    """One box."""

    name: str
    server: str
    lane: str
    engine: str
    seconds: float
    """Since it was made."""
    orphaned: bool
    """Whether the runtime that made it is dead."""


class ListedLayer(msgspec.Struct, frozen=True):
    """Packages that were fetched for a command."""

    name: str
    described: str
    pinned: bool
    """Whether the command names one version of it."""
    size: int
    seconds: float


async def boxes_in(state: Path, environ: Mapping[str, str]) -> list[ListedBox]:
    """Those of every runtime of this state folder, dead ones included."""
    found = [*_namespaces(state)]
    with suppress(ConnectFailed):
        ours = state_name(state)
        found += [
            ListedBox(box.name, box.server, box.lane, "docker", time.time() - box.created, is_dead(state, box.owner))
            for box in await boxes_of(Engine(socket_of(environ)))
            if box.state == ours
        ]
    return found


def layers_in(state: Path) -> list[ListedLayer]:
    now = time.time()
    return [
        ListedLayer(kept.key, kept.described, kept.pinned, kept.size, now - kept.made)
        for kept in _shelf(state).layers()
    ]


async def end_box(state: Path, environ: Mapping[str, str], name: str) -> bool:
    """End one box. Its runtime takes that for the death of the server. False if there is none of that name."""
    for folder in _folders(state):
        if folder.name == name:
            return strike(folder)
    try:
        return await remove(Engine(socket_of(environ)), name)
    except ConnectFailed:
        return False


async def remove_layer(state: Path, name: str, within: float) -> bool:
    """Delete fetched packages, so that the next start fetches them again. False if there are none of that name."""
    return await _shelf(state).remove(name, within)


def _shelf(state: Path) -> Shelf:
    return Shelf(state.absolute() / FOLDER)


def _folders(state: Path) -> list[Path]:
    return sorted(path.parent for path in (state / RUN).glob(f"[!.]*/{BOXES}/*/pid") if path.parent.suffix != ".ended")


def _namespaces(state: Path) -> Iterator[ListedBox]:
    for folder in _folders(state):
        server, lane, _ = folder.name.rsplit("-", 2)
        with suppress(OSError):
            age = time.time() - folder.stat().st_mtime
            yield ListedBox(folder.name, server, lane, "bubblewrap", age, is_dead(state, folder.parents[1].name))
