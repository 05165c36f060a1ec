"""How a layer is made: fetched in a box, looked at, closed to every change."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bascule.core.errors import SandboxError
from bascule.sandbox.prepare.build__last_words import fetch_failed
from bascule.sandbox.prepare.fetch_box import ROOM, SCRATCH, TEMPORARY, Place, fetching
from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.installed import program_in
from bascule.sandbox.prepare.layer import FORMAT, RECORD, TREE, Record, written
from bascule.sandbox.prepare.layer_files import content_digest, look_digest, remove, seal, size_of
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.prepare.registry_files import registries_of
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import Ended

LOOK_EVERY = 1.0
"""Seconds between two looks at how much a fetch has written."""

AFTER = 30.0
"""Seconds that an engine has beyond ours."""


class Runs(Protocol):
    """The one thing that is wanted of an engine here."""

    async def run(self, box: Box, timeout: float) -> Ended: ...


@dataclass(frozen=True, slots=True)
class Making:
    """One layer that is to be made."""

    package: Package
    fetcher: Fetcher
    command: Command
    """Whose registries count."""
    environ: Mapping[str, str]
    within: float
    """Seconds for all of it."""
    room: int = ROOM

    async def make(self, folder: Path, place: Place, engine: Runs) -> None:
        """In a folder that is not there yet."""
        _open_folder(folder / TREE)
        await self._fetch(place, engine)
        await asyncio.to_thread(self._finish, folder)

    async def _fetch(self, place: Place, engine: Runs) -> None:
        registries = registries_of(self.fetcher, self.command, self.environ)
        end = time.monotonic() + self.within
        for box in fetching(self.package, self.fetcher, registries, place):
            ended = await self._run(box, end, engine, Path(place.source))
            if ended.code != 0:
                raise fetch_failed(self.package.described, ended.code, ended.output, registries.left_out)

    async def _run(self, box: Box, end: float, engine: Runs, tree: Path) -> Ended:
        """Until it is done, takes too long or has written too much."""
        seconds = max(end - time.monotonic(), 0.0)
        # An engine knows less of why it takes so long than we do.
        running = asyncio.ensure_future(engine.run(box, seconds + AFTER))
        watching = asyncio.ensure_future(self._overflow(tree))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait((running, watching), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
        except TimeoutError:
            raise SandboxError(
                f"{self.package.described} was not fetched within {self.within:g} s",
                where="prepare",
                cause="the registry is slow, or installing the package takes long",
                fix="try again; or install the package yourself, and name its program as the command",
            ) from None
        finally:
            for task in (running, watching):
                task.cancel()
            await asyncio.gather(running, watching, return_exceptions=True)
        raise self._too_large()

    def _too_large(self) -> SandboxError:
        return SandboxError(
            f"{self.package.described} is too large to be prepared",
            where="prepare",
            evidence=f"more than {self.room} bytes were written",
            fix="install the package yourself, and name its program as the command",
        )

    async def _overflow(self, tree: Path) -> None:
        """Returns when more is there than may be."""
        while await asyncio.to_thread(size_of, tree) <= self.room:  # noqa: ASYNC110 -- nobody tells us of a write
            await asyncio.sleep(LOOK_EVERY)

    def _finish(self, folder: Path) -> None:
        tree = folder / TREE
        if size_of(tree) > self.room:
            raise self._too_large()
        remove(tree / SCRATCH)
        program = program_in(tree, self.package)
        seal(tree)
        record = Record(
            format=FORMAT,
            described=self.package.described,
            runner=self.package.runner,
            pinned=self.package.pinned,
            program=program,
            interpreter=self.fetcher.interpreter,
            needed=self.fetcher.needed,
            digest=content_digest(tree),
            look=look_digest(tree),
            size=size_of(tree),
            made=time.time(),
        )
        (folder / RECORD).write_bytes(written(record))


def _open_folder(tree: Path) -> None:
    """A folder to be written to by whoever is in the box, under whichever number that is outside."""
    tree.parent.mkdir(mode=0o700)
    for folder in (tree, tree / SCRATCH, tree / SCRATCH / TEMPORARY):
        folder.mkdir()
        folder.chmod(0o777)
