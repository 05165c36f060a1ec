"""Sender and receiver of `channels`, each in the sandbox of its own principal, or as a plain process."""

import json
import os
import sys
import tempfile
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bascule import AgentSession, Runtime, ToolResult
from bascule.core.sensitivity import DataSensitivity
from support import channels
from support.waiting import fail_after

BITS = (1, 0, 1)

Step = Callable[[str, str, str], Awaitable[str]]
"""One step of one end: its name, the channel and the path. Returns the bit that was seen, or the error."""


@dataclass(frozen=True)
class Shown:
    """A folder on a disk, which sandboxes show read-only."""

    folder: Path

    @property
    def file(self) -> str:
        return str(self.folder / "file")

    @property
    def fifo(self) -> str:
        return str(self.folder / "fifo")

    @property
    def socket(self) -> str:
        return str(self.folder / "socket")


@contextmanager
def shown_folder() -> Generator[Shown]:
    # Not in /tmp, which has no page cache to evict from where it is a tmpfs.
    with tempfile.TemporaryDirectory(prefix="bascule-shown-", dir="/var/tmp") as made:
        shown = Shown(Path(made))
        shown.folder.chmod(0o755)
        Path(shown.file).write_bytes(b"x" * 8192)
        os.mkfifo(shown.fifo)
        Path(shown.fifo).chmod(0o666)
        yield shown


def config(shown: Shown) -> Path:
    python = os.path.realpath(sys.executable)
    server = {"command": python, "args": ["-I", "-S", channels.__file__, str(shown.folder)]}
    written = shown.folder / "bascule.yaml"
    written.write_text(json.dumps({"mcp_servers": {"end": server}}))
    return written


@asynccontextmanager
async def two_sessions(shown: Shown, level: DataSensitivity | None) -> AsyncGenerator[tuple[Step, Step]]:
    """The steps of a sender at this level, and of a receiver of another principal on the open lane."""
    async with fail_after(120), Runtime.from_file(config(shown)) as runtime:
        sender, receiver = runtime.session("alice", "s-1"), runtime.session("bob", "s-2")
        if level is not None:
            await sender.add_private_dataset("payroll", level)
        yield step_of(sender), step_of(receiver)


def step_of(session: AgentSession) -> Step:
    async def step(name: str, channel: str, path: str) -> str:
        outcome = await session.call("end_step", {"name": name, "channel": channel, "path": path})
        assert isinstance(outcome, ToolResult), outcome
        return str(outcome.structured["seen"])

    return step


def step_here() -> Step:
    """The steps of this process."""
    end = channels.Channel()

    async def step(name: str, channel: str, path: str) -> str:
        return channels.step(end, name, channel, path)

    return step


def is_shared(engine: str, path: str) -> bool:
    """True for a device in a sandbox of bubblewrap without root, which `bascule doctor` reports as shared."""
    return engine == "bubblewrap" and os.geteuid() != 0 and path.startswith("/dev/")


async def seen(sender: Step, receiver: Step, channel: str, path: str, bits: Sequence[int] = BITS) -> list[str]:
    """The result of the receiver for each bit: 0, 1, or the error that keeps it from looking."""
    found: list[str] = []
    for bit in bits:
        if channel == "atime":
            # An access that is older than the last change is noted again, also on disks that note few.
            os.utime(path, (0, Path(path).stat().st_mtime))
        prepared = await receiver("prepare", channel, path)
        if bit:
            await sender("send", channel, path)
        found.append(await receiver("look", channel, path) if prepared == "0" else prepared)
        for end in (sender, receiver):
            await end("rest", channel, path)
    return found
