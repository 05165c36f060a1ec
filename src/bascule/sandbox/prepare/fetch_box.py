"""Sandbox in which a package is fetched. It sees the system, the registry settings and the folder of the new layer: no
workspace, no path or variable of the server, no other layer."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.mounts.masks import masked
from bascule.sandbox.mounts.programs import show_program
from bascule.sandbox.mounts.system import show_system, written_files
from bascule.sandbox.mounts.visible_paths import View
from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.prepare.package_registries import Registries, path_of
from bascule.sandbox.spec.box import HOME, HOUSE, INSIDE, Bounds, Box, Mount

PREPARED = f"{HOUSE}/prepared"
"""Where layers are seen in boxes, each by its key. Installed scripts keep their own paths, so it is the same path while
a layer is made and ever after, wherever the state folder is."""

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
    """Where a layer is made: the folder, and how it is called inside."""

    name: str
    source: str
    target: str
    machine: Machine


def fetching(package: Package, fetcher: Fetcher, registries: Registries, place: Place) -> tuple[Box, ...]:
    """One box after another. Files and folders are looked at, and nothing is changed."""
    commands = {"npm": _npm, "uv": _uv, "pip": _pip}[fetcher.tool](package, fetcher, registries, place.target)
    env = _environment(fetcher, registries, place.target)
    named = tuple(_named(package, registries))
    return tuple(
        _box(place, f"{place.name}-{number}", (lane, argv), env, _view(lane, fetcher, named, place))
        for number, (lane, argv) in enumerate(commands, start=1)
    )


def _box(place: Place, name: str, command: tuple[Lane, tuple[str, ...]], env: dict[str, str], view: View) -> Box:
    lane, argv = command
    files = written_files(lane)
    visible = masked(view, lane)
    return Box(
        name=name,
        server="prepare",
        lane=lane,
        argv=argv,
        env=env,
        cwd=place.target,
        mounts=tuple(mount for mount in visible.mounts if mount.target not in files),
        bounds=BOUNDS,
        links=view.links,
        files=files,
        masks=visible.masks,
        python=place.machine.python,
    )


def _view(lane: Lane, fetcher: Fetcher, named: Iterable[str], place: Place) -> View:
    view = View(place.machine)
    show_system(view, lane)
    show_program(view, place.machine.python, lambda _: None)
    for mount in program_mounts((*fetcher.needed, *fetcher.fetched_with)):
        view.add(mount)
    for path in named:
        view.place(path, "configured")
    view.add(Mount(place.machine.inside, INSIDE, why="ours"))
    view.add(Mount(place.source, place.target, writable=True, why="prepared"))
    return view


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


def _named(package: Package, registries: Registries) -> Iterator[str]:
    """What settings, options and the package itself name on this machine, as far as it is there."""
    options = (path_of(option.partition("=")[2]) for option in package.options)
    for path in (*registries.paths, *filter(None, options), *package.files):
        yield from (each for each in _with_its_packages(path) if Path(each).exists())


def program_mounts(programs: Iterable[str]) -> tuple[Mount, ...]:
    return tuple(Mount(path, path, why="program") for path in programs)


def _with_its_packages(path: str) -> tuple[str, ...]:
    folder = PurePath(path)
    beside = [str(folder.parent / name) for name in _BESIDE_AN_INDEX] if folder.name == "simple" else []
    return (path, *beside)
