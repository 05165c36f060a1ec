"""Mounts that a program needs to start: its installation or virtual environment, interpreters, and symbolic links."""

import re
from collections.abc import Callable, Iterator
from configparser import ConfigParser, Error
from json import JSONDecodeError, loads
from pathlib import Path
from urllib.parse import unquote, urlsplit

from bascule.files.regular_file import read_regular
from bascule.sandbox.mounts.path_checks import is_file, is_folder
from bascule.sandbox.mounts.projects import is_script, show_project
from bascule.sandbox.mounts.symlinks import trail
from bascule.sandbox.mounts.visible_paths import View

WHY = "program"

DEEPEST = 5
"""Interpreters of interpreters that are followed. The system itself follows four."""

HEAD = 4096
"""Bytes of a file in which it says what interprets it."""

PROGRAM_FOLDERS = frozenset({"bin", "sbin", "libexec", "Scripts"})
INSTALLED_BESIDE = ("lib", "lib64", "libexec", "share")
"""What lies beside `bin` where something was installed as a whole."""

Find = Callable[[str], str | None]
"""A program by its name, as the server itself would find it."""

_TRAMPOLINE = re.compile(rb"""^'''exec' "?(/[^"'\n]+?)"? "\$0" """, re.MULTILINE)
"""How installers name an interpreter whose path is too long, or has a blank in it."""


def show_program(view: View, path: str, find: Find, depth: int = DEEPEST) -> None:
    """A program by its path, and all that it needs to start."""
    followed = trail(path)
    view.link(followed.links)
    for stop in followed.stops:
        if folder := venv_of(stop):
            show_venv(view, folder)
    _show_installed(view, followed.end)
    # What one of these starts is beside it.
    if Path(path).name == "uvx":
        _show_installed(view, str(Path(followed.end).with_name("uv")))
    if depth:
        for interpreter in interpreters(followed.end, find):
            show_program(view, interpreter, find, depth - 1)


def _show_installed(view: View, real: str) -> None:
    place = prefix_of(real)
    if place and view.tree(place, WHY):
        return
    if is_script(real):
        show_project(view, real)
    else:
        view.file(real, WHY)


def prefix_of(real: str) -> str | None:
    """The folder that a program was installed into with all that belongs to it."""
    folder = Path(real).parent
    if folder.name == "shims":
        return str(folder.parent)
    if folder.name not in PROGRAM_FOLDERS:
        return None
    around = folder.parent
    if is_file(around / "pyvenv.cfg") or any(is_folder(around / beside) for beside in INSTALLED_BESIDE):
        return str(around)
    return None


def venv_of(path: str) -> str | None:
    """The virtual environment that a program is of."""
    around = Path(path).parent.parent
    return str(around) if is_file(around / "pyvenv.cfg") else None


def show_venv(view: View, folder: str) -> None:
    """A virtual environment, the Python it was made from, and the projects that were installed into it as they lie."""
    if not view.is_new(folder):
        return
    followed = trail(folder)
    view.link(followed.links)
    view.tree(followed.end, WHY)
    for home in _homes(Path(folder) / "pyvenv.cfg"):
        there = trail(home)
        view.link(there.links)
        _show_installed(view, str(Path(there.end) / "python3"))
    for python in ("python", "python3"):
        there = trail(str(Path(folder) / "bin" / python))
        view.link(there.links)
        _show_installed(view, there.end)
    for project in sorted(set(editable_projects(folder))):
        there = trail(project)
        view.link(there.links)
        view.tree(there.end, WHY)


MAX_FILE = 4 * 1024 * 1024
"""Largest description of a virtual environment or project read, in bytes."""


def _homes(settings: Path) -> Iterator[str]:
    parser = ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string("[venv]\n" + read_regular(settings, MAX_FILE).decode())
    except (OSError, UnicodeDecodeError, Error):
        return
    if home := parser.get("venv", "home", fallback=""):
        yield home


def editable_projects(venv: str) -> Iterator[str]:
    """Folders that a virtual environment takes modules from, though they lie elsewhere."""
    for packages in Path(venv).glob("lib/python*/site-packages"):
        for listed in packages.glob("*.pth"):
            yield from (line for line in _lines(listed) if line.startswith("/") and is_folder(line))
        for origin in packages.glob("*.dist-info/direct_url.json"):
            yield from _editable(origin)


def _editable(origin: Path) -> Iterator[str]:
    try:
        told = loads(read_regular(origin, MAX_FILE))
        url = urlsplit(str(told["url"] if told["dir_info"]["editable"] else ""))
    except (OSError, JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        return
    if url.scheme == "file" and is_folder(unquote(url.path)):
        yield unquote(url.path)


def _lines(path: Path) -> list[str]:
    try:
        return read_regular(path, MAX_FILE).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return []


def interpreters(path: str, find: Find) -> Iterator[str]:
    """The programs that a script's first line names, by their paths."""
    head = _head(path)
    if not head.startswith(b"#!"):
        return
    words = head[2:].split(b"\n", 1)[0].decode("utf-8", "surrogateescape").split()
    if words and words[0].startswith("/"):
        yield words[0]
    if words and Path(words[0]).name == "env":
        # Options of `env`, and variables that it sets, stand before the name.
        name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
        if name and (found := find(name)):
            yield found
    if trampoline := _TRAMPOLINE.search(head):
        yield trampoline[1].decode("utf-8", "surrogateescape")


def _head(path: str) -> bytes:
    try:
        return read_regular(path, HEAD)
    except OSError:
        return b""
