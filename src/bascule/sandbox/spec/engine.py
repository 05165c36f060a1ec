"""Interface of sandbox engines, and the exec that a server needs in a container, as data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Box, FileIdentity
from bascule.sandbox.spec.launch_request import Order

_NO_NAMES = dict[str, str]

NOT_BOUNDED = "not bounded"
WHOLE = {
    "memory": "all processes together, shared memory included",
    "pids": "all processes together",
    "cpus": "all processes together",
    "disk": "all files outside of the workspace together",
}
"""The bounds of a sandbox with a cgroup."""


@dataclass(frozen=True, slots=True)
class Run:
    """What to run in which container: argv, never a shell line, and what is added to the container's environment."""

    container: str
    argv: Sequence[str]
    env: Mapping[str, str] = field(default_factory=_NO_NAMES, repr=False)
    cwd: str | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of something that ran in a box to its end."""

    code: int
    output: str
    """The end of what it wrote, to stdout and stderr alike."""


@dataclass(frozen=True, slots=True)
class SharedInodes:
    """Files and folders of the host whose inodes a sandbox of a private lane shares with other sandboxes, against the
    rule. Sandboxes with the same inode can signal by its locks."""

    paths: tuple[str, ...] = ()
    why: str = ""


class EngineBox(Protocol):
    """One box that was ordered. It is made when it is opened, and may be opened again when what ran in it has ended."""

    guarded: Mapping[str, FileIdentity]
    """Files of the host whose replacement has to end the sandbox, since it removes their masks. Empty before `open`."""

    async def open(self) -> Command | Run:
        """How the server is started in the box: a process of this machine, or one in a container. It runs only if the
        box has been found tight from inside. Raises `SandboxError`."""
        ...

    async def close(self) -> None:
        """Nothing of it is left when this returns. Whatever runs in it is ended at once."""
        ...


class Engine(Protocol):
    """Makes boxes. The same order gives the same confinement, whichever engine it is given to."""

    kind: str

    def bounds(self) -> Mapping[str, str]:
        """The extent of each resource limit of a sandbox here, by its config key. One that does not hold has the words
        `NOT_BOUNDED`."""
        ...

    def box(self, order: Order) -> EngineBox: ...

    async def run(self, box: Box, timeout: float) -> Ended:
        """Run the box's command to its end, and leave nothing of the box. Raises `SandboxError` where it cannot be run
        at all, or takes longer."""
        ...

    async def shared_inodes(self, order: Order) -> SharedInodes:
        """The inodes that a sandbox for this order shares with others, found by making one. Raises `SandboxError`."""
        ...
