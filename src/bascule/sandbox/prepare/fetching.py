"""The boxes in which a package is fetched. They see the system, the settings of registries and the folder that becomes
the layer: no workspace, no path of the server's, no variable that was configured for it, no other layer."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from bascule.core.sensitivity import Lane
from bascule.sandbox.boxes.box import HOME, Bounds, Box, Mount
from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.prepare.registries import Registries, path_of

ROOM = 2 * 1024**3
"""Bytes that a package may take, with all it needs and what is thrown away afterwards."""

BOUNDS = Bounds(memory=2 * 1024**3, cpus=2, pids=512, disk=ROOM)
"""What a box that fetches may use up. Installers start a process for each core, and some packages are compiled."""

SCRATCH = ".fetch"
"""In the layer while it is made: caches and temporary files. /tmp is in memory, and nothing can be run from there."""

TEMPORARY = "temporary"

ENVIRONMENT = "env"
"""The virtual environment in a layer of Python's."""

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

_BESIDE_AN_INDEX = ("files", "packages")
"""Where a folder called `simple` has its packages by custom. All of its parent is more than a box should see."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a layer is made: the folder, and how it is called inside, which is what it will be called afterwards."""

    name: str
    source: str
    target: str
    system: tuple[Mount, ...]
    """What every box shows of this machine."""


def fetching(package: Package, fetcher: Fetcher, registries: Registries, place: Place) -> tuple[Box, ...]:
    """One box after another."""
    commands = {"npm": _npm, "uv": _uv, "pip": _pip}[fetcher.tool](package, fetcher, registries, place.target)
    shown = (*place.system, *_mounts(package, fetcher, registries, place))
    env = _environment(fetcher, registries, place.target)
    return tuple(
        Box(
            name=f"{place.name}-{number}",
            server="prepare",
            lane=lane,
            argv=argv,
            env=env,
            cwd=place.target,
            mounts=shown,
            bounds=BOUNDS,
        )
        for number, (lane, argv) in enumerate(commands, start=1)
    )


_Commands = tuple[tuple[Lane, tuple[str, ...]], ...]


def _npm(package: Package, fetcher: Fetcher, registries: Registries, target: str) -> _Commands:
    nowhere = f"{target}/{SCRATCH}/npmrc"
    settled = (
        f"--prefix={target}",
        f"--cache={target}/{SCRATCH}/npm",
        # What was found in these files is said on the command line, as far as it is nobody's secret.
        f"--userconfig={nowhere}",
        f"--globalconfig={nowhere}-global",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--no-progress",
    )
    return (
        (
            Lane.OPEN,
            (*fetcher.command, "install", *settled, *registries.options, *package.options, "--", *package.specs),
        ),
    )


def _uv(package: Package, fetcher: Fetcher, _registries: Registries, target: str) -> _Commands:
    made = (*fetcher.command, "venv", "--python", fetcher.interpreter, f"{target}/{ENVIRONMENT}")
    install = ("pip", "install", "--compile-bytecode", f"--python={target}/{ENVIRONMENT}/bin/python")
    return (
        (Lane.SEALED, made),
        (Lane.OPEN, (*fetcher.command, *install, *package.options, "--", *package.specs)),
    )


def _pip(package: Package, fetcher: Fetcher, _registries: Registries, target: str) -> _Commands:
    made = (fetcher.interpreter, "-m", "venv", f"{target}/{ENVIRONMENT}")
    install = (f"{target}/{ENVIRONMENT}/bin/python", "-m", "pip", "install", "--no-input", "--compile")
    return (
        (Lane.SEALED, made),
        (Lane.OPEN, (*install, *package.options, "--", *package.specs)),
    )


def _environment(fetcher: Fetcher, registries: Registries, target: str) -> dict[str, str]:
    scratch = f"{target}/{SCRATCH}"
    return {
        **registries.env,
        "PATH": f"{PurePath(fetcher.interpreter).parent}:{SYSTEM_PATH}",
        "HOME": HOME,
        "LANG": "C.UTF-8",
        "TMPDIR": f"{scratch}/{TEMPORARY}",
        "UV_CACHE_DIR": f"{scratch}/uv",
        "UV_NO_CONFIG": "1",
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "PIP_CACHE_DIR": f"{scratch}/pip",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }


def _mounts(package: Package, fetcher: Fetcher, registries: Registries, place: Place) -> Iterable[Mount]:
    programs = (*fetcher.needed, *fetcher.fetched_with)
    named = [path_of(option.partition("=")[2]) for option in package.options]
    wanted = [*registries.paths, *(path for path in named if path), *package.files]
    yield from program_mounts(programs, place.system)
    for path in (each for one in wanted for each in _with_its_packages(one)):
        if not covered(path, place.system):
            yield Mount(path, path, why="configured")
    yield Mount(place.source, place.target, writable=True, why="prepared")


def program_mounts(programs: Iterable[str], system: tuple[Mount, ...]) -> tuple[Mount, ...]:
    return tuple(Mount(path, path, why="program") for path in programs if not covered(path, system))


def _with_its_packages(path: str) -> tuple[str, ...]:
    folder = PurePath(path)
    beside = [str(folder.parent / name) for name in _BESIDE_AN_INDEX] if folder.name == "simple" else []
    return (path, *beside)


def covered(path: str, mounts: Iterable[Mount]) -> bool:
    """Whether a path is seen already."""
    return any(PurePath(path).is_relative_to(mount.target) for mount in mounts)
