"""Preparation of packages: the first command that needs a package fetches it, all others start from the cached
layer."""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from bascule.sandbox.mounts.host import Machine, this_machine
from bascule.sandbox.prepare.build import Making, Runs
from bascule.sandbox.prepare.cache import Shelf
from bascule.sandbox.prepare.fetch_box import PREPARED, Place, program_mounts
from bascule.sandbox.prepare.fetcher import at_hand, find_fetcher
from bascule.sandbox.prepare.installed import FOLDERS
from bascule.sandbox.prepare.layer import TREE, Kept, Layer, Record, key_of
from bascule.sandbox.prepare.layer_files import remove
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.prepare.recognise import recognise
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Mount

FOLDER = "prepared"
"""In the state folder."""

FETCH_WITHIN = 300.0
"""Seconds for a fetch, whatever a connection may take: large packages on slow lines. It is done once."""


class Preparing:
    """The layers of one state folder, and how one is made that is missing."""

    def __init__(
        self,
        folder: Path,
        engine: Runs,
        *,
        machine: Machine | None = None,
        environ: Mapping[str, str] = os.environ,
        within: float = FETCH_WITHIN,
    ) -> None:
        """`folder` is the state folder."""
        self._shelf = Shelf(folder.absolute() / FOLDER)
        self._engine = engine
        self._machine = machine or this_machine(environ)
        self._environ = environ
        self._within = within

    async def prepared(self, command: Command) -> Layer | None:
        """The layer that a command starts from; it is made if there is none. None if the command fetches nothing, or is
        not understood. Raises `SandboxError` where there is to be a layer and can be none."""
        package = recognise(command.argv)
        if not isinstance(package, Package) or at_hand(package, command):
            return None
        fetcher = find_fetcher(package, command, _our_python())
        key = key_of(package, fetcher)
        record = await asyncio.to_thread(self._shelf.find, key)
        if record is None:
            record = await self._made(key, Making(package, fetcher, command, self._environ, self._within))
        return self._layer(key, record, package, command)

    def layers(self) -> tuple[Kept, ...]:
        """Those that are there, the newest first."""
        return self._shelf.layers()

    async def remove(self, key: str) -> bool:
        """Delete a layer, so that the next start fetches it again. False if there is none."""
        return await self._shelf.remove(key, self._within)

    async def _made(self, key: str, making: Making) -> Record:
        # Whoever holds it may have begun just now.
        async with self._shelf.held(key, self._within + 60):
            record = await asyncio.to_thread(self._shelf.find, key)
            if record is None:
                await asyncio.to_thread(self._shelf.sweep, key)
                await self._make(key, making)
                record = await asyncio.to_thread(self._shelf.find, key)
            assert record is not None
            return record

    async def _make(self, key: str, making: Making) -> None:
        partial, whole = self._shelf.partial(key), self._shelf.path(key)
        place = Place(f"prepare-{partial.name}", str(partial / TREE), f"{PREPARED}/{key}", self._machine)
        try:
            await making.make(partial, place, self._engine)
            partial.rename(whole)
        finally:
            await asyncio.shield(asyncio.to_thread(remove, partial))

    def _layer(self, key: str, record: Record, package: Package, command: Command) -> Layer:
        tree, seen = str(self._shelf.path(key) / TREE), f"{PREPARED}/{key}"
        path = (f"{seen}/{FOLDERS[package.kind]}", str(Path(record.interpreter).parent), command.env.get("PATH", ""))
        return Layer(
            argv=(f"{seen}/{record.program}", *package.arguments),
            mounts=(*program_mounts(record.needed), Mount(tree, seen, why="prepared")),
            env={"PATH": os.pathsep.join(each for each in path if each)},
            digest=record.digest,
            described=record.described,
        )


def _our_python() -> Path:
    """The interpreter that runs us, outside of any environment: one that is surely there."""
    return Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
