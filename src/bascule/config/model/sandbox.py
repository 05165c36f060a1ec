"""Sandbox settings of a server process: engine, image, mounts and resource limits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from math import isfinite
from typing import Any, Literal, cast

from bascule.config.validation import Flaw, choice_flaws, count_flaws, items, refuse, seconds_flaws

EngineChoice = Literal["auto", "docker", "bubblewrap"]
ENGINES = ("auto", "docker", "bubblewrap")

Mode = Literal["ro", "rw"]
MODES = ("ro", "rw")

MEMORY = 512 * 1024**2
DISK = 1024**3
PIDS = 128
SESSION_LIMIT = 3600.0

NONE: Literal["none"] = "none"
"""The operator's word that a server is to run without a box."""

AUTO: Literal["auto"] = "auto"
"""Mounts that are found by looking at the command."""


@dataclass(frozen=True, slots=True)
class HostPath:
    """A file or folder of this machine that a box shows, at the same path."""

    path: str
    mode: Mode = "ro"

    def __post_init__(self) -> None:
        refuse("HostPath", host_path_flaws((), {"path": self.path, "mode": self.mode}))


@dataclass(frozen=True, slots=True)
class Sandbox:
    """The box that an operator asks for. One who asks gets it, or an error: never a plain process."""

    engine: EngineChoice = "auto"
    image: str | None = None
    """Docker only. None: this machine's own programs, as bubblewrap shows them."""
    mounts: tuple[HostPath, ...] | Literal["auto"] = AUTO
    """Auto: what exists of the paths in `args` and `cwd`, to be read only."""
    memory: int = MEMORY
    """Bytes."""
    cpus: float = 1
    pids: int = PIDS
    disk: int = DISK
    """Bytes that may be written outside of the workspace."""
    session_limit: float = SESSION_LIMIT
    """Seconds that one box lives. A call after that gets a new one."""

    def __post_init__(self) -> None:
        given = {name: getattr(self, name) for name in self.__slots__}
        mounts = self.mounts if self.mounts == AUTO else [_plain(each) for each in items(self.mounts) or ()]
        refuse("Sandbox", sandbox_flaws({**given, "mounts": mounts}))
        object.__setattr__(self, "mounts", AUTO if self.mounts == AUTO else tuple(self.mounts))


def sandbox_flaws(given: Mapping[str, Any]) -> Iterator[Flaw]:
    """What is wrong with what was given for each of the fields. Mounts are mappings here."""
    yield from choice_flaws("engine", given["engine"], ENGINES)
    image = given["image"]
    if image is not None and (not isinstance(image, str) or not image.strip() or "\0" in image):
        yield Flaw(("image",), "must name an image, as `docker images` shows it")
    elif image is not None and given["engine"] == "bubblewrap":
        yield Flaw(("image",), "goes with `engine: docker`: bubblewrap shows this machine's own programs")
    yield from _mounts_flaws(given["mounts"])
    yield from chain.from_iterable(count_flaws(name, given[name]) for name in ("memory", "pids", "disk"))
    cpus = given["cpus"]
    if isinstance(cpus, bool) or not isinstance(cpus, int | float) or not isfinite(cpus) or cpus <= 0:
        yield Flaw(("cpus",), "must be a number above 0, such as 0.5")
    yield from seconds_flaws("session_limit", given["session_limit"])


def _mounts_flaws(mounts: Any) -> Iterator[Flaw]:
    if mounts == AUTO:
        return
    given = items(mounts)
    if given is None:
        yield Flaw(("mounts",), "must be auto, or a list such as [{path: /data, mode: ro}]")
        return
    for index, mount in enumerate(given):
        yield from host_path_flaws(("mounts", index), mount)


def host_path_flaws(where: tuple[str | int, ...], mount: Any) -> Iterator[Flaw]:
    if not isinstance(mount, Mapping) or not {"path"} <= set(cast("Mapping[Any, Any]", mount)) <= {"path", "mode"}:
        yield Flaw(where, "must be a mapping with `path`, and `mode` (ro or rw)")
        return
    given = cast("Mapping[str, Any]", mount)
    path, mode = given["path"], given.get("mode", "ro")
    if not isinstance(path, str) or not path.startswith(("/", "~/")) or "\0" in path:
        yield Flaw((*where, "path"), "must be the whole path of a file or folder, beginning with / or ~/")
    for flaw in choice_flaws("mode", mode, MODES):
        yield Flaw((*where, *flaw.path), flaw.text)


def host_paths(mounts: Any) -> tuple[HostPath, ...] | Literal["auto"]:
    """Mounts of a file, checked before, in their final form."""
    return AUTO if mounts == AUTO else tuple(HostPath(**each) for each in mounts)


def _plain(mount: Any) -> Any:
    return {"path": mount.path, "mode": mount.mode} if isinstance(mount, HostPath) else mount
