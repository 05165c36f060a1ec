"""Python interpreter for sandboxes of foreign images with the same architecture: a copy of the running one, with its
loader and only the modules that the entry program needs. Built once per state folder; its name is a file digest."""

import ast
import hashlib
import os
import secrets
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bascule.core.errors import SandboxError

FOLDER = "python"
"""In the state folder."""

PROGRAM = "bin/python3"
LIBRARIES = "lib"

MADE_WITHIN = 60
"""Seconds for each program that is run to make it. They take a tenth of one."""

ALWAYS = ("encodings", "codecs", "io", "site", "runpy", "importlib")
"""What the interpreter itself looks for, whatever is run."""


@dataclass(frozen=True, slots=True)
class Carried:
    """A Python in a folder, which may be mounted anywhere."""

    folder: Path
    loader: str
    """The file in it by which programs are started: they need no other."""

    def argv(self, at: str) -> tuple[str, ...]:
        """How it is started where the folder is shown at this path. Its own arguments follow."""
        return (f"{at}/{LIBRARIES}/{self.loader}", "--library-path", f"{at}/{LIBRARIES}", f"{at}/{PROGRAM}")


def carried(state: Path, programs: Path) -> Carried:
    """The Python that can run the programs in a folder. It takes a second, once. Raises `SandboxError` where it cannot
    be made."""
    try:
        wanted = sorted(_imported(programs.glob("*.py")))
        parts = _Parts.gathered(wanted)
        folder = state / FOLDER / parts.digest()
        if not folder.exists():
            _make(folder, parts)
            _try(Carried(folder, parts.loader.name), wanted)
        return Carried(folder, parts.loader.name)
    except (OSError, subprocess.SubprocessError, StopIteration) as error:
        raise SandboxError(
            "this Python could not be made ready for boxes of other images",
            where="box",
            evidence=str(error),
            cause="a tool that tells what a program is linked to (ldd) is missing, or the disk is full",
            fix="leave out `sandbox.image`: this machine's own programs are shown then",
        ) from error


@dataclass(frozen=True, slots=True)
class _Parts:
    """What it is made of: files of this machine, by where they go."""

    program: Path
    loader: Path
    files: dict[str, Path]

    @classmethod
    def gathered(cls, wanted: list[str]) -> "_Parts":
        program = Path(sys.executable).resolve()
        modules = dict(_modules(wanted))
        binaries = [program, *(path for path in modules.values() if path.suffix == ".so")]
        libraries = {path.name: path for binary in binaries for path in _linked(binary)}
        loader = next(path for name, path in libraries.items() if name.startswith(("ld-", "ld.", "ld64")))
        files = {f"{LIBRARIES}/{name}": path for name, path in libraries.items()}
        return cls(program, loader, {PROGRAM: program, **files, **modules})

    def digest(self) -> str:
        """By the files themselves: a Python that was updated is another one."""
        told = hashlib.sha256()
        for place, path in sorted(self.files.items()):
            known = path.stat()
            told.update(f"{place}\0{path}\0{known.st_size}\0{known.st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
        return told.hexdigest()[:24]


def _imported(programs: Iterable[Path]) -> set[str]:
    """The modules that these programs import, as far as they are the standard library's."""
    found = set[str](ALWAYS)
    for program in programs:
        for node in ast.walk(ast.parse(program.read_bytes())):
            match node:
                case ast.Import(names=names):
                    found |= {alias.name.partition(".")[0] for alias in names}
                case ast.ImportFrom(module=str(module), level=0):
                    found.add(module.partition(".")[0])
                case _:
                    pass
    return found & sys.stdlib_module_names


_LOADED = """
import importlib, sys
for name in sys.argv[1:]:
    importlib.import_module(name)
for name, module in list(sys.modules.items()):
    if getattr(module, "__file__", None):
        print(name, module.__file__)
"""


def _modules(wanted: list[str]) -> Iterator[tuple[str, Path]]:
    """The files of these modules and of all that they load, each with where it goes. Of a package, all of it."""
    # By the interpreter itself, not the one of a virtual environment, which knows of more.
    argv = [str(Path(sys.executable).resolve()), "-I", "-S", "-c", _LOADED, *wanted]
    told = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=MADE_WITHIN).stdout
    # As in the original: `lib/python3.11`, by which an interpreter finds itself at home.
    stdlib, home = Path(sysconfig.get_path("stdlib")), f"lib/python{sys.version_info[0]}.{sys.version_info[1]}"
    packages = set[Path]()
    for line in told.splitlines():
        path = Path(line.partition(" ")[2])
        if path.name == "__init__.py":
            packages.add(path.parent)
        if path.is_relative_to(stdlib):
            yield f"{home}/{path.relative_to(stdlib)}", path
        elif path.suffix == ".so":
            yield f"{home}/lib-dynload/{path.name}", path
    # The landmark by which the interpreter knows its own folder.
    yield f"{home}/os.py", stdlib / "os.py"
    for package in packages:
        for path in package.rglob("*.py"):
            if "test" not in path.parts and "tests" not in path.parts:
                yield f"{home}/{path.relative_to(stdlib)}", path


def _linked(binary: Path) -> list[Path]:
    """What a program is linked to, its loader included."""
    ldd = shutil.which("ldd", path="/usr/bin:/bin")
    if ldd is None:
        raise FileNotFoundError("ldd")
    told = subprocess.run([ldd, str(binary)], capture_output=True, text=True, check=True, timeout=MADE_WITHIN).stdout
    words = (line.partition("=>")[2] or line for line in told.splitlines())
    return [Path(word) for line in words if (word := line.split("(")[0].strip()).startswith("/")]


def _make(folder: Path, parts: _Parts) -> None:
    """Under another name first: what has its name is complete."""
    draft = folder.with_name(f"{folder.name}-{secrets.token_hex(4)}")
    try:
        for place, source in parts.files.items():
            target = draft / place
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o755 if source.stat().st_mode & 0o111 else 0o644)
        for path in (draft, *draft.rglob("*/")):
            # Whoever a server is inside has to get in.
            path.chmod(0o755)
        # So that a start does not compile everything each time: nothing can be written where it is used.
        compiling = [str(parts.program), "-I", "-S", "-m", "compileall", "-q", "--invalidation-mode=unchecked-hash"]
        subprocess.run([*compiling, str(draft / "lib")], check=True, capture_output=True, timeout=MADE_WITHIN)
        try:
            os.rename(draft, folder)  # noqa: PTH104 -- the one that fails if somebody was first
        except OSError:
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _try(made: Carried, wanted: list[str]) -> None:
    """Run it once where it is. One that does not work here works nowhere."""
    argv = [*made.argv(str(made.folder)), "-I", "-S", "-c", _LOADED, *wanted]
    try:
        subprocess.run(argv, check=True, capture_output=True, timeout=MADE_WITHIN, env={})
    except subprocess.SubprocessError:
        shutil.rmtree(made.folder, ignore_errors=True)
        raise
