"""Two images built from this machine, since none can be had from anywhere: one with Python, one with Node, each with a
server that nobody here wrote.

They are kept outside of the checkout, named by what is in them, and never published: they hold parts of this machine.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

from support.docker import DockerEngine
from support.peers import EVERYTHING_PACKAGE

KEPT = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "bascule-tests"

SERVER = "mcp-server-time"

LEFT_OUT = {"site-packages", "test", "tests", "idlelib", "lib2to3", "tkinter", "turtledemo", "ensurepip", "pydoc_data"}
"""Of Python's own library. All that is in an image is unpacked and summed up for every engine that it is brought to."""

NOT_RUN = (".opt-1.pyc", ".opt-2.pyc", ".a", ".o")
"""Ends of files that nothing in an image makes use of: compiled for other ways to start, or to link programs with."""

EDITION = "8"
"""Moves when they are built in another way."""

Add = Callable[[Path, str], None]


def python_image(engine: DockerEngine) -> str:
    """An image in which `mcp-server-time` is on the PATH."""
    prefix = Path(sys.base_prefix).resolve()
    versions = [f"{dist.metadata['Name']}=={dist.version}" for dist in needed(SERVER)]
    path = f"/srv/bin:{prefix}/bin"
    return imported(engine, "python", [sys.version, *versions], {"PATH": path, "PYTHONPATH": "/srv/packages"}, _python)


def node_image(engine: DockerEngine) -> str:
    """An image in which the server of `EVERYTHING` is started by node."""
    node = shutil.which("node")
    assert node is not None
    return imported(engine, "node", [EVERYTHING_PACKAGE, str(Path(node).stat().st_size)], {"PATH": "/usr/bin"}, _node)


EVERYTHING = ("node", "/srv/node_modules/@modelcontextprotocol/server-everything/dist/index.js", "stdio")


def imported(
    engine: DockerEngine, name: str, holds: Iterable[str], env: dict[str, str], build: Callable[[Add], None]
) -> str:
    """An image of what `build` adds, made anew only if what it holds is another thing than before."""
    told = "\n".join((EDITION, *sorted(holds), str(env)))
    image = f"bascule-tests/{name}:{hashlib.sha256(told.encode()).hexdigest()[:16]}"
    tape = KEPT / f"{image.replace('/', '-').replace(':', '-')}.tar"
    with _alone(KEPT / f"{name}.lock"):
        if not tape.exists():
            draft = tape.with_suffix(".draft")
            with tarfile.open(draft, "w") as archive:
                build(_adding(archive))
            for older in KEPT.glob(f"bascule-tests-{name}-*.tar"):
                older.unlink()
            draft.rename(tape)
    if image not in engine.run("images", "--format={{.Repository}}:{{.Tag}}"):
        engine.run("import", *(f"--change=ENV {key}={value}" for key, value in env.items()), str(tape), image)
    return image


@contextmanager
def _alone(lock: Path) -> Generator[None]:
    """Tests run in several processes, and only one of them may build."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _adding(archive: tarfile.TarFile) -> Add:
    """Takes a file of this machine and where it goes. Links are followed, and what is there is not added again."""
    there: set[str] = set()

    def add(path: Path, place: str) -> None:
        place = os.path.normpath(place)
        if place in there or not path.is_file():
            return
        there.add(place)
        entry = archive.gettarinfo(str(path.resolve()), place.lstrip("/"))
        entry.uid = entry.gid = 0
        entry.mode |= 0o444
        entry.type, entry.linkname = tarfile.REGTYPE, ""
        entry.size = path.stat().st_size
        with path.open("rb") as file:
            archive.addfile(entry, file)

    return add


def _python(add: Add) -> None:
    add_python(add, needed(SERVER))
    add_script(add, SERVER, f"#!{Path(sys.executable).resolve()}\nfrom mcp_server_time import main\nmain()\n")


def add_script(add: Add, name: str, words: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / name
        script.write_text(words)
        script.chmod(0o755)
        add(script, f"/srv/bin/{name}")


def add_python(add: Add, packages: Iterable[metadata.Distribution]) -> None:
    """This Python with its libraries, and these packages where `PYTHONPATH` finds them."""
    program = Path(sys.executable).resolve()
    stdlib = Path(sysconfig.get_path("stdlib")).resolve()
    binaries = [program]
    add(program, str(program))
    for name in ("python", "python3"):
        add(program, str(program.with_name(name)))
    for path in stdlib.rglob("*"):
        if not LEFT_OUT & set(path.relative_to(stdlib).parts) and not path.name.endswith(NOT_RUN):
            add(path, str(path))
            binaries += [path] if path.suffix == ".so" else []
    for dist in packages:
        for file in dist.files or ():
            if ".." not in file.parts:
                path = Path(str(dist.locate_file(file)))
                add(path, f"/srv/packages/{file}")
                # Without them a start takes seconds.
                compiled = f"__pycache__/{path.stem}.{sys.implementation.cache_tag}.pyc"
                add(path.parent / compiled, f"/srv/packages/{file.parent}/{compiled}")
                binaries += [path] if ".so" in path.name else []
    for binary in binaries:
        add_linked(add, binary)


def add_linked(add: Add, binary: Path) -> None:
    """The libraries of this machine that a program needs. Those of a package are found beside it, wherever that is; added
    where they are here they would make an image another one in each checkout, and a closed `/tmp` of one in `/tmp`."""
    for library in linked(binary):
        if not library.resolve().is_relative_to(sys.prefix):
            add(library, str(library))


def needed(*names: str) -> list[metadata.Distribution]:
    """Packages, and all that they need here."""
    found: dict[str, metadata.Distribution] = {}
    # What somebody needs with an extra of theirs is told in no simple way; it is this one.
    waiting = [*names, "cryptography"]
    while waiting:
        wanted = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if wanted not in found:
            try:
                found[wanted] = metadata.distribution(wanted)
            except metadata.PackageNotFoundError:
                continue  # of another system, or of an extra
            required = found[wanted].requires or ()
            waiting += [re.split(r"[^\w.-]", each)[0] for each in required if "extra ==" not in each]
    return list(found.values())


def _node(add: Add) -> None:
    node = Path(shutil.which("node") or "").resolve()
    add(node, "/usr/bin/node")
    add_linked(add, node)
    folder = KEPT / "node"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    argv = [
        "npm",
        "install",
        "--prefix",
        str(folder),
        "--no-audit",
        "--no-fund",
        "--prefer-offline",
        EVERYTHING_PACKAGE,
    ]
    subprocess.run(argv, check=True, capture_output=True, timeout=300)
    for path in folder.rglob("*"):
        add(path, f"/srv/{path.relative_to(folder)}")
    shutil.rmtree(folder)


def linked(binary: Path) -> Iterator[Path]:
    told = subprocess.run(["ldd", str(binary)], capture_output=True, text=True, check=False, timeout=60).stdout
    for line in told.splitlines():
        word = (line.partition("=>")[2] or line).split("(")[0].strip()
        if word.startswith("/"):
            yield Path(word)
