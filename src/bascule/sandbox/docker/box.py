"""Sandbox that is one container: created when its server starts, removed when it closes. If the engine does not answer,
the container's processes are found by cgroup and killed from the host."""

import asyncio
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from bascule.core.errors import ConnectFailed, SandboxError
from bascule.core.json_types import as_object
from bascule.sandbox.docker.api import Engine, EngineRefused
from bascule.sandbox.docker.attach import listening_to
from bascule.sandbox.docker.container_spec import NO_NETWORK
from bascule.sandbox.docker.host_firewall import shut
from bascule.sandbox.docker.provision import Furnished, Furnishing
from bascule.sandbox.docker.remove import remove_container
from bascule.sandbox.spec.box import Box, FileIdentity
from bascule.sandbox.spec.engine import Run, SharedInodes

PROCESSES = Path("/proc")

PAUSE = 0.01
STRUCK_WITHIN = 5.0
"""Seconds for what was killed to be gone. It takes milliseconds, unless the kernel is busy for it."""


def processes_of(container: str) -> list[int]:
    """What runs in a container, as far as it is to be seen from here: its id stands in the name of its cgroup."""
    return [int(path.name) for path in PROCESSES.iterdir() if path.name.isdigit() and _is_in(path, container)]


def strike(container: str) -> bool:
    """Kill all that runs in a container. Whether nothing of it is left; that is known only of one in which something
    was seen before."""
    deadline = time.monotonic() + STRUCK_WITHIN
    while running := processes_of(container):
        for pid in running:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if time.monotonic() > deadline:
            return False
        time.sleep(PAUSE)
    return True


def _is_in(path: Path, container: str) -> bool:
    try:
        groups = (path / "cgroup").read_text()
        # What has ended stays in its group until somebody asks how.
        return container in groups and ") Z " not in (path / "stat").read_text()
    except OSError:
        return False


MADE_WITHIN = 60.0
"""Seconds for an engine to make or start a container. It takes a fifth of one; ten at once, on a busy machine, more."""

READY = b"bascule: the box is tight"
"""What the first program says when it has found the box so, and whatever a server needs beside itself runs."""

READY_WITHIN = 30.0
"""Seconds for the first program to say so."""

NOT_TIGHT = 97
"""What the first program exits with when it has found that the box is not."""


LONGEST_EVIDENCE = 1000
"""Characters of an engine's own words. Some repeat all that they were asked."""


class ContainerBox:
    """One box. `open` may be asked again and again; `close` is for good."""

    def __init__(
        self, engine: Engine, furnishing: Furnishing, name: str, server: str, layout: Callable[[], Box]
    ) -> None:
        """`layout` reads the file system, so it runs in a thread, once per container."""
        self._engine = engine
        self._furnishing = furnishing
        self.layout = layout
        self.name = name
        self.server = server
        self.guarded: Mapping[str, FileIdentity] = {}
        self.container = ""
        """The engine's id of the container that was made last. Empty: none was."""
        self._furnished: Furnished | None = None
        self._making: asyncio.Task[None] | None = None
        self._seen = False
        """Whether what runs in it is to be seen from here, among the processes of this machine."""
        self._closed = False
        self._closing: asyncio.Task[None] | None = None

    async def open(self) -> Run:
        """Raises `SandboxError`. Whoever is no longer waited for leaves a container that is still to be closed."""
        if self._making is None or self._making.done():
            self._making = asyncio.create_task(self._up())
            # Also where nobody waits any more to hear why it failed.
            self._making.add_done_callback(lambda made: made.cancelled() or made.exception())
        await asyncio.shield(self._making)
        assert self._furnished is not None
        return Run(self.container, self._furnished.argv, self._furnished.env)

    @property
    def shared(self) -> SharedInodes:
        """The inodes that it shares with other sandboxes. Known once it was opened."""
        return self._furnished.shared if self._furnished is not None else SharedInodes()

    async def cut(self) -> None:
        """Take its network away now. It takes half the time of ending it, and is no end: it is still to be closed."""
        network = self._furnished.network if self._furnished is not None else NO_NETWORK
        if not self.container or network == NO_NETWORK:
            return
        asked = {"Container": self.container, "Force": True}
        try:
            await self._engine.ask("POST", f"/networks/{network}/disconnect", asked)
        except EngineRefused as error:
            # Engines differ in what they say of one that has none.
            if await self._has_network():
                raise _failed(self.server, "could not be taken off its network", error) from error
        except ConnectFailed as error:
            raise _failed(self.server, "could not be taken off its network", error) from error

    async def _has_network(self) -> bool:
        told = as_object(await self._engine.find(f"/containers/{self.container}/json"))
        return bool(as_object(as_object(told.get("NetworkSettings")).get("Networks")))

    async def close(self) -> None:
        """Raises `SandboxError` if something of it may be left; it may be asked again then."""
        self._closed = True
        if self._closing is None or (self._closing.done() and self._closing.exception() is not None):
            self._closing = asyncio.create_task(self._end())
        await asyncio.shield(self._closing)

    async def _end(self) -> None:
        try:
            await self._end_container()
        finally:
            self._furnishing.owner.forget_container(self.name)

    async def _end_container(self) -> None:
        if self.container:
            # At the same time: it has no way out before it has ended.
            cutting = asyncio.create_task(self.cut())
            cutting.add_done_callback(lambda cut: cut.cancelled() or cut.exception())
            try:
                await self._remove()
            finally:
                cutting.cancel()
        if self._making is not None and not self._making.done():
            # It finds out by itself that it is not wanted any more; and the engine may have gone on without it.
            await asyncio.wait((self._making,))
            if self.container:
                await self._remove()
        if self._furnished is not None:
            await asyncio.to_thread(self._furnished.remove_files)

    async def _remove(self) -> None:
        """End all that runs in it, whether its engine is there or not."""
        try:
            await remove_container(self._engine, self.container, within=0 if self._seen else None)
        except SandboxError:
            if not self._seen or not await asyncio.to_thread(strike, self.container):
                raise
            # Nothing runs in it. What the engine still knows of it is removed when it is back.
            self._furnishing.left.add(self.container)

    async def _up(self) -> None:
        self._go_on()
        try:
            if self.container and await self._engine.is_up(self.container):
                return
            await self._make()
        except ConnectFailed as error:
            raise _failed(self.server, "could not be made", error) from error

    async def _make(self) -> None:
        if self.container:
            # What ran in it has ended, and it with that.
            await remove_container(self._engine, self.container)
            self.container, self._seen = "", False
        while not await self._made():
            self._go_on()

    async def _made(self) -> bool:
        """False if the container is to be made once more, since the engine could not make one of its overlays."""
        box = await asyncio.to_thread(self.layout)
        self.guarded = box.guarded
        self._furnished = furnished = await self._furnishing.of(box)
        self._go_on()
        path = f"/containers/create?name={self.name}"
        try:
            made = await self._engine.ask("POST", path, furnished.body, within=MADE_WITHIN)
        except EngineRefused as error:
            if self._furnishing.without_overlay(furnished, error):
                return False
            raise
        except ConnectFailed:
            # It may have been made all the same.
            self._furnishing.left.add(self.name)
            raise
        self.container = str(made.get("Id", ""))
        try:
            await self._start(furnished)
        except BaseException as error:
            await asyncio.shield(self._remove())
            self.container, self._seen = "", False
            if isinstance(error, EngineRefused) and self._furnishing.without_overlay(furnished, error):
                return False
            raise
        return True

    async def _start(self, furnished: Furnished) -> None:
        self._go_on()
        async with listening_to(self._engine, f"/containers/{self.container}/attach?stream=1&stdout=1&stderr=1") as ear:
            await self._engine.ask("POST", f"/containers/{self.container}/start", within=MADE_WITHIN)
            self._seen = bool(await asyncio.to_thread(processes_of, self.container))
            try:
                async with asyncio.timeout(READY_WITHIN):
                    ready = await ear.until(READY)
            except TimeoutError:
                ready = False
        self._go_on()
        if not ready:
            raise await self._not_ready(ear.text)
        if furnished.network != NO_NETWORK:
            # The server is not there yet, and neither is anything else that could have gone that way.
            await shut(self._engine, self.container, furnished.shutter)
            self._go_on()

    async def _not_ready(self, said: str) -> SandboxError:
        told = await self._engine.find(f"/containers/{self.container}/json")
        code = as_object(as_object(told).get("State")).get("ExitCode")
        tight = code != NOT_TIGHT
        return SandboxError(
            f"the box of {self.server} {'did not come up' if tight else 'is not tight'}, and nothing was run in it",
            where="box",
            evidence=said or f"its first program exited with code {code}",
            cause="" if tight else "the container engine gave it more than was asked for",
            fix="look at the evidence; `engine: bubblewrap` does without a container engine",
        )

    def _go_on(self) -> None:
        if self._closed:
            raise SandboxError(f"the box of {self.server} was closed", where="box")


def _failed(server: str, what: str, error: ConnectFailed) -> SandboxError:
    said = error.said if isinstance(error, EngineRefused) else ""
    return SandboxError(
        f"the box of {server} {what}",
        where="box",
        evidence=(said or error.evidence or error.message)[:LONGEST_EVIDENCE],
        cause=error.cause or error.message,
        fix=error.fix or "look into the engine's log",
    )
