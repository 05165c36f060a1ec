"""The proxy that runs: one Envoy for all proxied boxes of a runtime, started with the first and kept running."""

import asyncio
import logging
import os
import shutil
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from bascule.config.model.egress import Egress
from bascule.core.errors import SandboxError
from bascule.sandbox.egress.access_log import Access, AccessLines
from bascule.sandbox.egress.envoy_config import BOOTSTRAP, LISTENERS, bootstrap, listeners, socket_path
from bascule.sandbox.egress.proxy__own import own_addresses
from bascule.sandbox.egress.proxy__program import find_envoy
from bascule.sandbox.egress.proxy__ranges import closed_ranges
from bascule.sandbox.process.child import Child, Command, Pipes, spawn
from bascule.sandbox.process.stderr__stderr_ring import StderrRing

LISTENING = 20.0
"""Seconds until a box's socket must be there. It takes a tenth of one, and much longer only where all is slow."""

GRACE = 2.0
"""Seconds for Envoy to end by itself. It has nothing to lose but the last lines of its log."""

STILLBORN = 3
"""Starts in a row that fail before somebody who waits is told."""

BACKOFF, LONGEST_BACKOFF = 0.1, 5.0
"""Seconds until it is started again, doubled each time, and their bound."""

HEALTHY = 10.0
"""Seconds that it must have run for the backoff to begin anew."""

REMEMBERED = 1000
"""Boxes that are gone whose last lines of the log may still come."""

_POLL = 0.005

_ARGUMENTS = (
    *("-c", BOOTSTRAP, "--concurrency", "2", "--disable-hot-restart"),
    *("--log-level", "warning", "--component-log-level", "misc:error"),
    *("--file-flush-interval-msec", "100"),
    # What a box had open is closed when it is gone, and does not end when it pleases.
    *("--drain-time-s", "1", "--drain-strategy", "immediate"),
)

_log = logging.getLogger("bascule.sandbox")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Where the proxy runs. Anything but this machine as it is, is for who tries it out in a network of their own."""

    program: Sequence[str] = ()
    """Envoy, and what it is started by. By default that of the package."""
    own: Callable[[], Iterable[str]] = own_addresses


class EgressProxy:
    """The way out of the proxied boxes of one runtime. `folder` is its own: nobody else writes there."""

    def __init__(
        self, egress: Egress, folder: str, on_access: Callable[[Access], None], around: Surroundings | None = None
    ) -> None:
        self._egress = egress
        self._folder = Path(folder)
        self._on_access = on_access
        self._around = around or Surroundings()
        self._own = frozenset[str]()
        self._numbers = count(1)
        self._boxes: dict[str, int] = {}
        self._names: dict[int, str] = {}
        """Of the boxes that are there, and of some that were."""
        self._supervising: asyncio.Task[None] | None = None
        self._child: Child | None = None
        self._stillborn = 0
        self._renewing = False
        """Whether its end is our own doing."""
        self._trouble: SandboxError | None = None
        self._closed = False

    @property
    def pid(self) -> int | None:
        """Of Envoy, while it runs."""
        return self._child.pid if self._child is not None and self._child.code is None else None

    async def socket_for(self, box: str) -> str:
        """The socket of this box, and of no other. It is listened on when this returns; its folder is what a box is to
        be given, since the socket is made again whenever Envoy is. Raises `SandboxError`."""
        if self._closed:
            raise SandboxError("the proxy has been closed")
        number = self._boxes.get(box)
        if number is None:
            number = self._boxes[box] = next(self._numbers)
            self._names[number] = box
        try:
            # Not told before it is there, and again whenever it is asked for.
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            (self._folder / str(number)).mkdir(mode=0o755, exist_ok=True)
            await self._tell()
            self._start()
            path = self._folder / socket_path(number)
            await self._listening(path)
        except BaseException:
            await self.release(box)
            raise
        return str(path)

    async def release(self, box: str) -> None:
        """Nothing is let through for this box any more, and what it had open is closed within a second or two."""
        number = self._boxes.pop(box, None)
        if number is None:
            return
        if len(self._names) > REMEMBERED + len(self._boxes):
            gone = next(each for each in self._names if each not in self._boxes.values())
            del self._names[gone]
        if self._supervising is not None and not self._closed:
            self._tell_listeners()
        shutil.rmtree(self._folder / str(number), ignore_errors=True)

    async def change(self, egress: Egress) -> None:
        """When this returns, nothing is let through but by this list. What was open is closed, allowed or not."""
        self._egress = egress
        if self._supervising is None or self._closed:
            return
        self._tell_listeners()
        # Told anew while it runs, it would go on by the old list for a moment that nobody knows the end of.
        await self._renew()
        for number in tuple(self._boxes.values()):
            await self._listening(self._folder / socket_path(number))

    async def close(self) -> None:
        """Nothing of it is left when this returns."""
        self._closed = True
        if self._supervising is not None:
            self._supervising.cancel()
            await asyncio.wait((self._supervising,))
        if self._child is not None:
            self._child.terminate()
            await self._child.close(GRACE)
        shutil.rmtree(self._folder, ignore_errors=True)

    async def _tell(self) -> None:
        own = frozenset(self._around.own())
        if own != self._own or self._supervising is None:
            self._own = own
            self._write(BOOTSTRAP, bootstrap(self._closed_ranges()))
            # This file is read at the start alone. It is rare enough that an address of a machine changes.
            await self._renew()
        self._tell_listeners()

    async def _renew(self) -> None:
        """End it, for the next to begin with what is written now."""
        child = self._child
        if child is not None and child.code is None:
            self._renewing = True
            child.kill()
            await asyncio.wait((child.exited,))

    def _tell_listeners(self) -> None:
        self._write(LISTENERS, listeners(self._egress, self._closed_ranges(), self._boxes.values()))

    def _closed_ranges(self) -> tuple[str, ...]:
        return closed_ranges(self._own)

    def _write(self, name: str, content: dict[str, Any]) -> None:
        """Envoy looks when something is moved there, and never sees a half of it."""
        fresh = self._folder / f"{name}.new"
        fresh.write_bytes(msgspec.json.encode(content))
        fresh.replace(self._folder / name)

    def _start(self) -> None:
        if self._supervising is None:
            program = self._around.program or (find_envoy(),)
            self._supervising = asyncio.create_task(self._supervise((*program, *_ARGUMENTS)))

    async def _supervise(self, argv: Sequence[str]) -> None:
        loop = asyncio.get_running_loop()
        # No secrets and no settings of ours: it needs none to listen and to connect.
        command = Command(argv, {"PATH": os.defpath}, str(self._folder))
        while True:
            began, stderr = loop.time(), StderrRing()
            try:
                self._child = await spawn(command, Pipes(asyncio.Protocol(), _Log(self), _Stderr(stderr)))
                await asyncio.wait((self._child.exited,))
                self._trouble = _ended(self._child.code, stderr)
                await self._child.close(0)
            except SandboxError as error:
                self._trouble = error
            if self._renewing:
                self._renewing = False
                continue
            self._stillborn = 0 if loop.time() - began > HEALTHY else self._stillborn + 1
            _log.warning("%s; it is started again. %s", self._trouble.message, self._trouble.evidence)
            await asyncio.sleep(min(BACKOFF * 2 ** max(0, self._stillborn - 1), LONGEST_BACKOFF))

    async def _listening(self, path: Path) -> None:
        """There is nothing that Envoy would tell us by, so it is tried."""
        loop, before = asyncio.get_running_loop(), self._stillborn
        deadline = loop.time() + LISTENING
        while not _answers(path):
            if self._stillborn - before >= STILLBORN or loop.time() > deadline:
                raise self._trouble or SandboxError(
                    "the proxy of this box did not come up in time", evidence=str(path), fix="look for what is slow"
                )
            await asyncio.sleep(_POLL)

    def heard(self, lines: AccessLines, data: bytes) -> None:
        for access in lines.feed(data, self._names):
            self._on_access(access)


class _Log(asyncio.Protocol):
    """Envoy's stdout."""

    def __init__(self, proxy: EgressProxy) -> None:
        self._proxy = proxy
        self._lines = AccessLines()

    def data_received(self, data: bytes) -> None:
        self._proxy.heard(self._lines, data)


class _Stderr(asyncio.Protocol):
    def __init__(self, ring: StderrRing) -> None:
        self._ring = ring

    def data_received(self, data: bytes) -> None:
        self._ring.feed(data)


def _ended(code: int | None, stderr: StderrRing) -> SandboxError:
    return SandboxError(
        f"the proxy of proxied boxes ended with code {code}",
        evidence=stderr.tail(),
        fix="look at what Envoy says; until it runs, proxied boxes reach nothing",
    )


def _answers(path: Path) -> bool:
    """Whether somebody listens there. By way of its folder, since a socket's path has only so much room."""
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return False
    short = Path(f"/proc/self/fd/{folder}")
    try:
        with socket.socket(socket.AF_UNIX) as end:
            end.setblocking(False)  # noqa: FBT003
            return end.connect_ex(str((short if short.exists() else path.parent) / path.name)) == 0
    finally:
        os.close(folder)
