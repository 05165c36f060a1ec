"""Resource limits of a sandbox by cgroups, version 1 or 2: memory, processes and CPU."""

import asyncio
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from bascule.sandbox.spec.box import Bounds

PREFIX = "bascule-"

PERIOD = 100_000
"""Microseconds over which the share of the processors is measured. The kernel's own."""

NEEDED = ("memory", "pids", "cpu")

ENDING = 5.0
"""Seconds for all processes of a cgroup to be gone once they are killed. It takes milliseconds."""

FORGOTTEN = 60.0
"""Seconds after which an empty cgroup is taken for left behind. One that was just made is still to be joined."""


class Cgroup:
    """The folders of one box, one for each controller in the older form."""

    def __init__(self, folders: tuple[Path, ...]) -> None:
        self._folders = folders

    @property
    def joined_by(self) -> tuple[str, ...]:
        """The files that a process joins it by."""
        return tuple(str(folder / "cgroup.procs") for folder in self._folders)

    def processes(self) -> set[int]:
        found: set[int] = set()
        for folder in self._folders:
            with suppress(OSError):
                found |= {int(line) for line in (folder / "cgroup.procs").read_text().split()}
        return found - {0}

    async def end(self) -> None:
        """Kill all that runs in it, and remove it."""
        deadline = time.monotonic() + ENDING
        while self._left() and time.monotonic() < deadline:
            for pid in self.processes():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            await asyncio.sleep(0.002)

    def _left(self) -> bool:
        for folder in self._folders:
            with suppress(OSError):
                folder.rmdir()
        return any(folder.exists() for folder in self._folders)


class Cgroups:
    """Where cgroups can be made. Which form there is, and whether we may, is looked up once."""

    def __init__(self, proc: Path = Path("/proc/self")) -> None:
        self._places = _places(proc)
        self._refused = ""
        """The error of the last attempt, if that failed."""

    @property
    def why_not(self) -> str:
        """Why none can be made, or nothing."""
        return self._missing() or self._refused

    def _missing(self) -> str:
        if not self._places:
            return "this system has no cgroups that bound memory, processes and processors"
        if not all(os.access(place, os.W_OK) for place in self._places.values()):
            return "we may not make cgroups here"
        return ""

    def made(self, name: str, bounds: Bounds) -> Cgroup | None:
        """A cgroup with these bounds. None, if there can be none."""
        if self._missing():
            return None
        folders = tuple(dict.fromkeys(place / f"{PREFIX}{name}" for place in self._places.values()))
        try:
            for place in set(self._places.values()):
                _let_pass(place)
            for folder in folders:
                folder.mkdir()
            for file, value in _settings(self._places, name, bounds):
                _write(file, value)
        except OSError as error:
            # As in a container whose own processes are in the cgroup at the top. The next attempt may succeed.
            self._refused = f"a cgroup could not be made: {error}"
            for folder in folders:
                with suppress(OSError):
                    folder.rmdir()
            return None
        self._refused = ""
        return Cgroup(folders)

    def sweep(self) -> None:
        """Remove what runtimes that were killed have left: it is empty, for their keepers have ended what was in it."""
        before = time.time() - FORGOTTEN
        for place in set(self._places.values()):
            for folder in place.glob(f"{PREFIX}*"):
                with suppress(OSError):
                    if folder.stat().st_mtime < before:
                        folder.rmdir()


def _write(file: Path, value: str) -> None:
    file.write_text(value)


def _let_pass(place: Path) -> None:
    """In the newer form, a folder tells which controllers those in it have."""
    control = place / "cgroup.subtree_control"
    if control.exists() and not set(NEEDED) <= set(control.read_text().split()):
        _write(control, " ".join(f"+{name}" for name in NEEDED))


def _settings(places: Mapping[str, Path], name: str, bounds: Bounds) -> Iterator[tuple[Path, str]]:
    memory, pids, cpu = (places[each] / f"{PREFIX}{name}" for each in NEEDED)
    share = str(max(1000, int(bounds.cpus * PERIOD)))
    yield pids / "pids.max", str(bounds.pids)
    if (memory / "memory.max").exists():
        yield memory / "memory.max", str(bounds.memory)
        if (memory / "memory.swap.max").exists():
            yield memory / "memory.swap.max", "0"
        if (memory / "memory.oom.group").exists():
            # Half a server is none.
            yield memory / "memory.oom.group", "1"
        yield cpu / "cpu.max", f"{share} {PERIOD}"
        return
    yield memory / "memory.limit_in_bytes", str(bounds.memory)
    if (memory / "memory.memsw.limit_in_bytes").exists():
        yield memory / "memory.memsw.limit_in_bytes", str(bounds.memory)
    yield cpu / "cpu.cfs_period_us", str(PERIOD)
    yield cpu / "cpu.cfs_quota_us", share


def _places(proc: Path) -> dict[str, Path]:
    """The folder in which a cgroup is made, for each controller. Empty, if one is missing."""
    try:
        mounts = [line.split() for line in (proc / "mountinfo").read_text().splitlines() if " - " in line]
        ours = [line.split(":", 2) for line in (proc / "cgroup").read_text().splitlines()]
    except OSError:
        return {}
    found = dict(_older(mounts, ours))
    if set(NEEDED) <= found.keys():
        return {name: found[name] for name in NEEDED}
    newer = _newer(mounts)
    return dict.fromkeys(NEEDED, newer) if newer else {}


def _older(mounts: list[list[str]], ours: list[list[str]]) -> Iterator[tuple[str, Path]]:
    """In the older form each controller has its own tree, and cgroups are made beneath the one that we are in."""
    own = {controller: path for _, controllers, path in ours for controller in controllers.split(",") if controller}
    for mount in mounts:
        if mount[mount.index("-") + 1] != "cgroup":
            continue
        root, place, options = mount[3], Path(mount[4]), mount[-1].split(",")
        for name in NEEDED:
            if name in options and name in own:
                beneath = own[name].removeprefix(root) if root != "/" else own[name]
                yield name, place / beneath.lstrip("/")


def _newer(mounts: list[list[str]]) -> Path | None:
    """In the newer form only a cgroup without processes of its own can have others, so they are made at the top."""
    for mount in mounts:
        if mount[mount.index("-") + 1] == "cgroup2":
            place = Path(mount[4])
            with suppress(OSError):
                if set(NEEDED) <= set((place / "cgroup.controllers").read_text().split()):
                    return place
    return None
