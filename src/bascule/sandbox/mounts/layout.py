"""Layout of a sandbox: from a launch request and the paths in its command line to mounts, environment and working
folder. It reads the file system, and changes nothing."""

import os
import re
import shlex
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bascule.config.model.sandbox import AUTO, Sandbox
from bascule.core.errors import SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.denylist import below
from bascule.sandbox.mounts.host import Machine
from bascule.sandbox.mounts.masks import masked
from bascule.sandbox.mounts.path_checks import is_file, is_folder, is_there
from bascule.sandbox.mounts.programs import Find, interpreters, show_program, show_venv
from bascule.sandbox.mounts.projects import CODE, show_project
from bascule.sandbox.mounts.symlinks import trail
from bascule.sandbox.mounts.system import show_system, written_files
from bascule.sandbox.mounts.visible_paths import View
from bascule.sandbox.process.child import Command, find_program
from bascule.sandbox.spec.box import (
    DECOYS,
    HOME,
    HOUSE,
    INSIDE,
    PROXY_FOLDER,
    PROXY_PORT,
    WORKSPACE,
    Bounds,
    Box,
    Mount,
)
from bascule.sandbox.spec.launch_request import Order

INTERPRETERS = re.compile(
    r"(python|pypy)[\d.]*|node|nodejs|deno|bun|ruby|perl|php|(ba|da|z|k)?sh|tsx|ts-node|uv|uvx|npx|java|dotnet|env|poetry"
)
"""Programs that are given another, as a file, in their arguments."""

LONGEST_PATH = 4096
"""A longer word is no path of any system."""


def is_interpreter(program: str) -> bool:
    return INTERPRETERS.fullmatch(Path(program).name) is not None


def paths_in(words: Sequence[str], folder: str) -> Iterator[tuple[str, str]]:
    """Each word, or what stands in it behind `=`, that is the path of something that is there: as it was written, and
    as a whole path."""
    for word in words:
        for part in (word, word.partition("=")[2]):
            if part and not part.startswith("-") and (whole := _existing(part, folder)):
                yield part, whole


def scripts_in(program: str, words: Sequence[str], folder: str) -> list[str]:
    """The files among the arguments that an interpreter is to run."""
    if not is_interpreter(program):
        return []
    files = [whole for _, whole in paths_in(words, folder) if is_file(whole)]
    return [path for index, path in enumerate(files) if index == 0 or Path(path).suffix in CODE]


def _existing(part: str, folder: str) -> str | None:
    if "\0" in part or len(part) > LONGEST_PATH:
        return None
    whole = os.path.normpath(Path(folder, part))
    # A name without a slash that happens to be there is one, too: `node index.js`.
    return whole if is_there(whole) else None


CODE_PATHS = ("PYTHONPATH", "PYTHONHOME", "NODE_PATH", "LD_LIBRARY_PATH", "RUBYLIB", "PERL5LIB")
"""Variables that name folders to take code from."""

VENVS = (".venv", "venv")
"""What the virtual environment in a project is called."""

LOOPBACK = "127.0.0.1,localhost,::1"


@dataclass(frozen=True, slots=True)
class Shown:
    """One line on what a box shows, or does not, for a person."""

    path: str
    mode: str
    """ro, rw, or `no` for what the command names and the box does not show."""
    why: str


def laid_out(order: Order, machine: Machine, name: str) -> Box:
    """The box for an order. `name` is to be unique. Raises `SandboxError` for what the operator named and is not
    there."""
    view = View(replace(machine, config=order.config))
    whole = order.settings.image is None
    argv = tuple(order.command.argv)
    if whole:
        show_system(view, order.lane)
        if not _is_prepared(order):
            argv = (_show_command(view, order.command), *argv[1:])
        show_program(view, machine.python, lambda _: None)
    for mount in order.mounts:
        view.add(mount)
    _show_named(view, order)
    view.add(Mount(machine.inside, INSIDE, why="ours"))
    if machine.decoys and order.lane is not Lane.OPEN:
        view.add(Mount(machine.decoys, DECOYS, why="decoy"))
    if order.workspace is not None:
        view.add(Mount(os.path.realpath(order.workspace), WORKSPACE, writable=True, why="workspace"))
    for inside, outside in order.sockets.items():
        view.add(Mount(outside, inside, why="ours"))
    proxied = order.lane is Lane.PROXIED and PROXY_FOLDER in order.sockets
    files = written_files(order.lane) if whole else {}
    visible = masked(view, order.lane)
    return Box(
        name=name,
        server=order.server,
        lane=order.lane,
        argv=argv,
        env=environment(order, proxied=proxied),
        cwd=_folder_inside(view, order),
        mounts=tuple(mount for mount in visible.mounts if mount.target not in files),
        bounds=bounds(order.settings),
        links=view.links,
        files=files,
        masks=visible.masks,
        guarded=visible.guarded,
        unscanned=visible.unscanned,
        omitted=view.omitted,
        python=machine.python if whole else "",
        proxied=proxied,
        image=order.settings.image,
    )


def bounds(settings: Sandbox) -> Bounds:
    return Bounds(memory=settings.memory, cpus=settings.cpus, pids=settings.pids, disk=settings.disk)


def environment(order: Order, *, proxied: bool) -> dict[str, str]:
    """All variables of a server inside: its own, and those that are otherwise in a box."""
    given = {**order.command.env, "HOME": HOME, "TMPDIR": "/tmp", "BASCULE_LANE": order.lane.value}  # noqa: S108
    if not proxied:
        return given
    proxy = f"http://127.0.0.1:{PROXY_PORT}"
    # Programs differ in which spelling they read.
    for variable in ("HTTP_PROXY", "HTTPS_PROXY"):
        given |= {variable: proxy, variable.lower(): proxy}
    return {**given, "NO_PROXY": LOOPBACK, "no_proxy": LOOPBACK, "NODE_USE_ENV_PROXY": "1"}


def shown(box: Box) -> tuple[Shown, ...]:
    """What is mounted, as a person is told it: of the system only that it is there."""
    own = (Shown(mount.target, "rw" if mount.writable else "ro", mount.why) for mount in box.mounts if _telling(mount))
    left = (Shown(omitted.path, "no", omitted.why) for omitted in box.omitted)
    return (*own, *left)


def _telling(mount: Mount) -> bool:
    return mount.why not in {"system", "ours", "decoy"}


# The command


def _is_prepared(order: Order) -> bool:
    """Whether the program is one that was fetched in a box. All it needs is mounted with it, and what strangers wrote
    into it is not asked which other files of this machine are to be shown."""
    return any(mount.why == "prepared" and below(order.command.argv[0], mount.target) for mount in order.mounts)


def _show_command(view: View, command: Command) -> str:
    """The program, and what it is given to run. Returns the program by the path that is found."""
    folder = _folder(view, command)
    program = os.path.normpath(Path(folder, find_program(command)))
    find = finder(command)
    show_program(view, program, find)
    words = list(command.argv[1:])
    if Path(program).name == "env":
        _show_behind_env(view, words, find)
    for script in scripts_in(program, words, folder):
        followed = trail(script)
        view.link(followed.links)
        show_project(view, followed.end)
        for interpreter in interpreters(followed.end, find):
            show_program(view, interpreter, find)
    for variable in CODE_PATHS:
        for path in command.env.get(variable, "").split(os.pathsep):
            if path.startswith("/"):
                view.tree(os.path.realpath(path), "program")
    for project in [mount.source for mount in view.mounts if mount.why == "program"]:
        _show_venvs_in(view, project)
    return program


def _show_behind_env(view: View, words: list[str], find: Find) -> None:
    name = next((word for word in words if not word.startswith("-") and "=" not in word), "")
    if name and (found := find(name)):
        show_program(view, found, find)


def _show_venvs_in(view: View, folder: str) -> None:
    for name in VENVS:
        if is_file(Path(folder) / name / "pyvenv.cfg"):
            show_venv(view, str(Path(folder) / name))


def finder(command: Command) -> Find:
    """Finds programs as the command itself would."""
    path = command.env.get("PATH", "")
    return lambda name: shutil.which(name, path=path)


def _folder(view: View, command: Command) -> str:
    """What the command is started in, outside."""
    folder = os.path.normpath(Path(view.machine.here, command.cwd or ""))
    if command.cwd is not None and not is_folder(folder):
        fix = f"run `mkdir -p {shlex.quote(folder)}`, or change `cwd`"
        raise SandboxError(f"the working directory {command.cwd} does not exist", fix=fix)
    return folder


# What else it names


def _show_named(view: View, order: Order) -> None:
    if order.settings.mounts != AUTO:
        for path, writable in _configured(view.machine, order.settings):
            view.place(path, "configured", writable=writable)
        return
    command = order.command
    folder = _folder(view, command)
    if command.cwd is not None:
        view.named(folder, "folder")
        _show_venvs_in(view, folder)
    for _, path in paths_in(command.argv[1:], folder):
        view.named(path, "argument")
        _show_venvs_in(view, path)


def _configured(machine: Machine, settings: Sandbox) -> Iterator[tuple[str, bool]]:
    for mount in settings.mounts:
        assert not isinstance(mount, str)
        path = os.path.normpath(machine.home + mount.path[1:] if mount.path.startswith("~/") else mount.path)
        where = "sandbox.mounts"
        if not is_there(path):
            raise SandboxError(
                f"{mount.path} is to be mounted and is not there", where=where, fix="make it, or take it out"
            )
        if path == "/" or below(path, HOUSE) or below(os.path.realpath(path), machine.state):
            raise SandboxError(
                f"{mount.path} cannot be mounted",
                where=where,
                cause="a box has its own uppermost folder, and never sees the state of Bascule",
                fix="name the folders in it that are needed",
            )
        yield path, mount.mode == "rw"


def _folder_inside(view: View, order: Order) -> str:
    """What the server is started in: the folder outside, where it is there inside and somebody meant it."""
    command = order.command
    folder = _folder(view, command)
    relative = any(not part.startswith("/") for part, _ in paths_in(command.argv, folder))
    if (command.cwd is not None or relative) and view.has(folder):
        return folder
    return WORKSPACE if order.workspace is not None else HOME
