"""A real container engine for a run of the tests: from the system's packages, on a socket and in folders of its own.

No image can be had from anywhere, and none is needed: a container is an empty image in which the machine's own programs
and this checkout are mounted, so that a server is started inside as it is outside. It has no network.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LONGEST = 120
"""Seconds for the engine to start or stop, on a machine that is busy with other things."""

MISSING = "no container engine can be started (it needs root; Debian: apt-get install docker.io)"

_GUARD = """
exec 3<&0
(
    "$@" >"$FOLDER/log" 2>&1 3<&- </dev/null &
    engine=$!
    cat <&3 >/dev/null 2>&1
    kill $engine
    wait $engine
    rm -rf --one-file-system "$FOLDER"
) >/dev/null 2>&1 &
"""
"""Runs the engine, and reads until the other end of its pipe is gone: then engine and folder go, also if this process was
killed."""


class DockerEngine:
    """One engine. `container()` starts a container in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.socket = folder / "docker.sock"
        self.host = f"unix://{self.socket}"
        self._numbers = count(1)
        reading, self._writing = os.pipe()
        daemon = [
            *("dockerd", "--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
            *("--host", self.host, "--pidfile", str(folder / "pid"), "--storage-driver", "vfs"),
            # Nothing of the machine's own network is touched.
            *("--bridge", "none", "--iptables=false", "--ip6tables=false", "--shutdown-timeout", "5"),
        ]
        argv = ["sh", "-c", _GUARD, "sh", *daemon]
        environment = {**os.environ, "FOLDER": str(folder)}
        subprocess.run(argv, stdin=reading, cwd="/", env=environment, check=True, start_new_session=True)
        os.close(reading)

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())

    def wait(self) -> None:
        deadline = time.monotonic() + LONGEST
        while self._try("info").returncode != 0:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-4000:]
            time.sleep(0.05)
        empty = self.folder / "empty.tar"
        subprocess.run(["tar", "-cf", str(empty), "--files-from", "/dev/null"], check=True)
        self.run("import", str(empty), "empty")

    def stop(self) -> None:
        if self._writing >= 0:
            # Its containers first: each would be given time to end by itself.
            if listed := self._try("ps", "--all", "--quiet").stdout.split():
                self._try("rm", "--force", *listed)
            os.close(self._writing)
            self._writing = -1
        deadline = time.monotonic() + LONGEST
        while self.folder.exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    def run(self, *args: str) -> str:
        """What a command of Docker's own client says."""
        ended = self._try(*args)
        assert ended.returncode == 0, f"docker {args}: {ended.stderr}"
        return ended.stdout.strip()

    def _try(self, *args: str) -> subprocess.CompletedProcess[str]:
        argv = ["docker", "--host", self.host, *args]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LONGEST)

    @contextmanager
    def container(self, *, path: str = "/usr/bin:/bin") -> Generator["Container"]:
        """A container that runs, and does nothing."""
        name = f"box-{next(self._numbers)}"
        mounts = [f"--volume={source}:{target}:ro" for source, target in _mounts()]
        shared = tempfile.gettempdir()
        given = ["--init", "--network=none", f"--env=PATH={path}", *mounts, f"--volume={shared}:{shared}"]
        self.run("run", "--detach", f"--name={name}", *given, "empty", "/usr/bin/sleep", "infinity")
        try:
            yield Container(self, name)
        finally:
            self._try("rm", "--force", name)


class Container:
    """One container that the tests have started, as somebody's own would be."""

    def __init__(self, engine: DockerEngine, name: str) -> None:
        self.engine = engine
        self.name = name

    def processes(self) -> dict[int, str]:
        """What runs inside beside the container's own process, by its number on this machine."""
        listed = self.engine.run("top", self.name, "-eo", "pid,args").splitlines()[1:]
        found = {int(pid): args for pid, args in (line.split(maxsplit=1) for line in listed)}
        return {pid: args for pid, args in found.items() if "sleep infinity" not in args}

    def kill(self) -> None:
        self.engine.run("kill", self.name)

    def start(self) -> None:
        self.engine.run("start", self.name)


def _mounts() -> Iterator[tuple[str, str]]:
    """The machine's programs, this Python and this checkout, each where it is outside."""
    yield "/usr", "/usr"
    for name in ("/bin", "/lib", "/lib64"):
        if Path(name).is_dir():
            yield str(Path(name).resolve()), name
    yield from {(folder, folder) for folder in (sys.base_prefix, sys.prefix, str(ROOT)) if not _below_usr(folder)}


def _below_usr(folder: str) -> bool:
    return Path(folder).is_relative_to("/usr")


def installed() -> bool:
    return os.geteuid() == 0 and all(shutil.which(program) for program in ("dockerd", "docker"))


@cache
def running_engine() -> DockerEngine:
    """One engine for all tests of one worker, from the first that needs it to the end of the process."""
    engine = DockerEngine(Path(tempfile.mkdtemp(prefix="bascule-docker-")))
    atexit.register(engine.stop)
    engine.wait()
    return engine


@contextmanager
def reached() -> Generator[DockerEngine]:
    """The engine, as the one that clients find. Skips where there can be none."""
    if not installed():
        pytest.skip(MISSING)
    engine, before = running_engine(), os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = engine.host
    try:
        yield engine
    finally:
        os.environ.pop("DOCKER_HOST")
        if before is not None:
            os.environ["DOCKER_HOST"] = before
