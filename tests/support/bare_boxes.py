"""Boxes as bubblewrap makes them of their description, and nothing around it: no limits, no filter of system calls."""

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from bascule.core.errors import SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.boxes.box import HOME, USER, Box
from bascule.sandbox.boxes.engine import Ended, EngineBox
from bascule.sandbox.boxes.layout import laid_out
from bascule.sandbox.boxes.machine import this_machine
from bascule.sandbox.boxes.order import Order
from bascule.sandbox.child import Command

BWRAP = shutil.which("bwrap") or ""

needs_bwrap = pytest.mark.skipif(not BWRAP, reason="bubblewrap is not installed")


class BareBoxes:
    """An engine. It counts what it has run to its end."""

    kind = "bare"

    def __init__(self) -> None:
        self.ran: list[Box] = []

    def box(self, order: Order) -> EngineBox:
        return BareBox(laid_out(order, this_machine(os.environ), "bare"))

    async def run(self, box: Box, timeout: float) -> Ended:
        self.ran.append(box)
        async with asyncio.timeout(timeout), started(command_of(box)) as process:
            output, _ = await process.communicate()
            return Ended(process.returncode or 0, output.decode(errors="replace")[-10_000:])


class BareBox:
    def __init__(self, box: Box) -> None:
        self._box = box

    async def open(self) -> Command:
        return command_of(self._box)

    async def close(self) -> None:
        pass


@asynccontextmanager
async def started(command: Command) -> AsyncGenerator[asyncio.subprocess.Process]:
    """Its two outputs in one. All of it is ended on leaving."""
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        env=dict(command.env),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        limit=2**24,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


def command_of(box: Box) -> Command:
    shared = ("--share-net",) if box.lane is Lane.OPEN else ()
    argv = [
        BWRAP,
        "--unshare-all",
        *shared,
        "--unshare-user",
        "--die-with-parent",
        "--uid",
        str(USER),
        "--gid",
        str(USER),
    ]
    argv += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", HOME, "--clearenv"]
    for mount in box.mounts:
        argv += ["--bind" if mount.writable else "--ro-bind", mount.source, mount.target]
    for link in box.links:
        argv += ["--symlink", link.to, link.path]
    if box.lane is Lane.OPEN:
        argv += ["--ro-bind", os.path.realpath("/etc/resolv.conf"), "/etc/resolv.conf"]
    for name, value in box.env.items():
        argv += ["--setenv", name, value]
    if any(not mount.target.startswith("/") for mount in box.mounts):
        raise SandboxError("a path is not whole")
    return Command((*argv, "--chdir", box.cwd, "--", *box.argv), {"PATH": os.defpath})
