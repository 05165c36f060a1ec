"""Package manager (npm, uv, pip) and interpreter for a fetch: looked up on the host, never run. A program that npx
would find in the project needs no fetch."""

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bascule.core.errors import SandboxError
from bascule.files.regular_file import read_regular
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.process.child import Command

Tool = Literal["npm", "uv", "pip"]


@dataclass(frozen=True, slots=True)
class Fetcher:
    """The programs that a package is fetched with. Every path is whole, and the file itself: no link, no shim."""

    tool: Tool
    command: tuple[str, ...]
    interpreter: str
    """Of node or Python: what runs the program."""
    needed: tuple[str, ...]
    """What the interpreter consists of, if it is not the system's."""
    fetched_with: tuple[str, ...]
    """The same of who fetches."""
    identity: str
    """Another version of the interpreter is another file. What was fetched for one need not run with another."""


def find_fetcher(package: Package, command: Command, our_python: Path) -> Fetcher:
    """By the PATH that the command has, and beside its own program."""
    beside = Path(command.argv[0]).parent
    path = os.pathsep.join([*([str(beside)] if beside.is_absolute() else []), command.env.get("PATH", "")])
    return _npm(path, package) if package.kind == "npm" else _python(path, package, command.env, our_python)


def _npm(path: str, package: Package) -> Fetcher:
    node, npm = _found("node", path, package), _found("npm", path, package)
    if not _is_program(node):
        raise _shim(node, "node", package)
    # Its programs lie two folders below its own: npm/bin/npm-cli.js.
    if "node" not in _first_line(npm):
        raise _shim(npm, "npm", package)
    return Fetcher("npm", (str(node), str(npm)), str(node), (str(node),), (str(npm.parent.parent),), _identity(node))


def _python(path: str, package: Package, env: Mapping[str, str], our_python: Path) -> Fetcher:
    python = _interpreter(package, path, env, our_python)
    needed, identity = pieces_of(python), _identity(python)
    uv = shutil.which("uv", path=path) if package.runner != "pipx" else None
    if uv is not None and _is_program(Path(uv).resolve()):
        whole = str(Path(uv).resolve())
        return Fetcher("uv", (whole,), str(python), needed, (whole,), identity)
    return Fetcher("pip", (str(python),), str(python), needed, (), identity)


def _found(name: str, path: str, package: Package) -> Path:
    found = shutil.which(name, path=path)
    if found is None:
        raise SandboxError(
            f"{package.described} cannot be fetched: {name} is not installed",
            evidence=f"PATH={path}",
            fix=f"install {name}, or put its folder into the server's PATH",
        )
    return Path(found).resolve()


def _shim(path: Path, name: str, package: Package) -> SandboxError:
    return SandboxError(
        f"{package.described} cannot be fetched: {path} only stands for {name}",
        cause="it is a script that looks for the real one elsewhere, which a box does not show",
        fix=f"put the folder of the real {name} first into the server's PATH",
    )


def _interpreter(package: Package, path: str, env: Mapping[str, str], our_python: Path) -> Path:
    if package.python is None:
        return our_python.resolve()
    for candidate in _candidates(package.python, path, env.get("HOME", "")):
        if candidate.is_file() and _is_program(candidate.resolve()):
            return candidate.resolve()
    raise SandboxError(
        f"{package.described} cannot be fetched: there is no Python {package.python} on this machine",
        cause="interpreters are not downloaded: what runs a server is chosen by who runs the machine",
        fix="install that version, or give the path of another with --python",
    )


def _candidates(asked: str, path: str, home: str) -> Iterator[Path]:
    if asked.startswith("/"):
        yield Path(asked)
        return
    version = asked.removeprefix("python").removeprefix("cpython").lstrip("@-")
    minor = ".".join(version.split(".")[:2])
    whole = version if version.count(".") == 2 else f"{version}.*"
    if version == minor:
        for folder in path.split(os.pathsep):
            yield Path(folder, f"python{minor}")
    for pattern in (f".pyenv/versions/{whole}/bin", f".local/share/uv/python/cpython-{whole}-*/bin"):
        for folder in sorted(Path(home or "/").glob(pattern), reverse=True):
            yield folder / f"python{minor}"


def pieces_of(python: Path) -> tuple[str, ...]:
    """An interpreter and its library, and not the folder both are in: that may be somebody's home."""
    prefix = python.parent.parent
    pieces = [python, *(prefix / name for name in ("lib", "lib64", "include"))]
    return tuple(str(each) for each in pieces if each.exists())


def _is_program(path: Path) -> bool:
    return path.is_file() and not _first_line(path).startswith("#!")


def _first_line(path: Path) -> str:
    try:
        return read_regular(path, 128).split(b"\n")[0].decode("latin-1")
    except OSError:
        return ""


def _identity(program: Path) -> str:
    status = program.stat()
    return f"{program} {status.st_size} {status.st_mtime_ns}"


LOOK_AROUND = ("npx", "npm", "bunx", "bun")
"""Commands that take a program of the project before they fetch one."""


def at_hand(package: Package, command: Command) -> bool:
    """Whether npx finds what it is asked for in the project that it is started in. It then runs that, and so do we."""
    if package.runner not in LOOK_AROUND or package.binary is not None or command.cwd is None:
        return False
    name = package.specs[0]
    folder = Path(command.cwd).absolute()
    programs = (above / "node_modules/.bin" / name for above in (folder, *folder.parents))
    # A name with a scope or a version is no program's.
    return "/" not in name and "@" not in name and any(program.is_file() for program in programs)
