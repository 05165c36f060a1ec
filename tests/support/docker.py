"""A real container engine for a run of the tests: from the system's packages, on a socket and in folders of its own.

No image can be had from anywhere, and none is needed: a container is an empty image in which the machine's own programs
and this checkout are mounted, so that a server is started inside as it is outside. It has no network, and the engine one
of its own.
"""

import atexit
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from itertools import count
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LONGEST = 120
"""Seconds for the engine to start or stop, on a machine that is busy with other things."""

WHOLE_LINES = ("-ww", "-eo", "pid,args")
"""How `docker top` lists processes. Without the first of these, their arguments end where `COLUMNS` of the engine says: pytest's
own process sets it to 80 for all that it starts, and a checkout with a long path has its servers' names behind that."""

MISSING = "no container engine can be started (it needs root; Debian: apt-get install docker.io iproute2 iptables)"

_GUARD = """
ip link set lo up
exec 3<&0
(
    (
        while [ ! -e "$FOLDER/over" ]; do
            "$@" >>"$FOLDER/log" 2>&1 3<&- </dev/null &
            echo $! >"$FOLDER/pid"
            wait $!
            sleep 0.05
        done
    ) 3<&- &
    keeping=$!
    cat <&3 >/dev/null 2>&1
    : >"$FOLDER/over"
    docker ps --all --quiet | xargs --no-run-if-empty docker rm --force
    while kill -0 $keeping; do
        kill "$(cat "$FOLDER/pid")"
        sleep 0.05
    done
    # podman leaves one for each run in a container, for minutes; Docker those of an engine that was killed, for ever.
    for each in $(pgrep --exact conmon; pgrep --exact containerd-shim); do
        if tr '\\0' ' ' <"/proc/$each/cmdline" | grep --quiet "$FOLDER"; then
            pkill -KILL --parent "$each"
            kill -KILL "$each"
        fi
    done
    while read -r _ place _; do
        case "$place" in "$FOLDER"/*) umount --lazy "$place" ;; esac
    done </proc/mounts
    for _ in 1 2 3 4 5; do
        rm -rf "$FOLDER"
        sleep 0.1
        if [ ! -e "$FOLDER" ]; then break; fi
    done
) >/dev/null 2>&1 &
"""
"""Runs the engine, again if it dies, and reads until the other end of its pipe is gone: then its containers, the engine
and the folder go, also if this process was killed."""

_APART = ("unshare", "--net", "--mount")
"""The engine makes bridges and rules of a firewall, and its containers go through them; it mounts folders of theirs. None
of that is this machine's, and no network of it leads out."""


def dockerd(folder: Path, *options: str) -> list[str]:
    return [
        *("dockerd", "--data-root", str(folder / "data"), "--exec-root", str(folder / "exec")),
        *("--host", f"unix://{folder}/engine.sock", "--pidfile", str(folder / "docker.pid")),
        *("--ip6tables=false", "--shutdown-timeout", "5", *options),
    ]


def podman(folder: Path) -> list[str]:
    own = ("--root", str(folder / "root"), "--runroot", str(folder / "runroot"), "--tmpdir", str(folder / "tmp"))
    # Its own choice of a runtime does not run on this kind of machine.
    of_the_machine = ("--runtime", "runc", "--cgroup-manager", "cgroupfs")
    return ["podman", *own, *of_the_machine, "system", "service", "--time=0", f"unix://{folder}/engine.sock"]


class DockerEngine:
    """One engine. `container()` starts a container in it."""

    def __init__(self, folder: Path, daemon: Sequence[str], apart: Sequence[str] = _APART) -> None:
        """`apart` is what it is started by, so that its network is not this machine's."""
        self.folder = folder
        self.socket = folder / "engine.sock"
        self.host = f"unix://{self.socket}"
        self._numbers = count(1)
        # What has lost its parent is taken in by somebody; podman has no program for that.
        self._init = ("--init",) if daemon[0] == "dockerd" else ()
        reading, self._writing = os.pipe()
        argv = [*apart, "sh", "-c", _GUARD, "sh", *daemon]
        environment = {**os.environ, "FOLDER": str(folder), "DOCKER_HOST": self.host}
        subprocess.run(argv, stdin=reading, cwd="/", env=environment, check=True, start_new_session=True)
        os.close(reading)

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())

    def wait(self) -> None:
        self.until_up()
        empty = self.folder / "empty.tar"
        subprocess.run(["tar", "-cf", str(empty), "--files-from", "/dev/null"], check=True)
        self.run("import", str(empty), "empty")

    def until_up(self) -> None:
        deadline = time.monotonic() + LONGEST
        while self.tried("info").returncode != 0:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-4000:]
            time.sleep(0.05)

    def crash(self) -> None:
        """End it as if it had crashed. It comes back by itself, as it does everywhere."""
        os.kill(self.pid, signal.SIGKILL)
        # Of the part that dies with it: the next one would wait for that.
        (self.folder / "exec/containerd/containerd.pid").unlink(missing_ok=True)

    def stop(self) -> None:
        if self._writing >= 0:
            os.close(self._writing)
            self._writing = -1
        deadline = time.monotonic() + LONGEST
        while self.folder.exists() and time.monotonic() < deadline:
            time.sleep(0.02)

    def run(self, *args: str) -> str:
        """What a command of Docker's own client says."""
        ended = self.tried(*args)
        assert ended.returncode == 0, f"docker {args}: {ended.stderr}"
        return ended.stdout.strip()

    def tried(self, *args: str) -> subprocess.CompletedProcess[str]:
        """The same, whatever comes of it."""
        argv = ["docker", "--host", self.host, *args]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=LONGEST)

    def build(self, folder: str | Path, image: str, *options: str) -> None:
        """An image by the Dockerfile that is in a folder, or that the options name. Nothing can be fetched for it."""
        argv = ["docker", "--host", self.host, "build", "--network", "none", "--tag", image, *options, str(folder)]
        # The other builder is a program of its own, which systems do not bring.
        told = {**os.environ, "DOCKER_BUILDKIT": "0"}
        ended = subprocess.run(argv, env=told, capture_output=True, text=True, check=False, timeout=2 * LONGEST)
        assert ended.returncode == 0, f"{ended.stdout}\n{ended.stderr}"

    @contextmanager
    def container(self, *, path: str = "/usr/bin:/bin") -> Generator["Container"]:
        """A container that runs, and does nothing."""
        name = f"box-{next(self._numbers)}"
        mounts = [f"--volume={source}:{target}:ro" for source, target in shown_programs()]
        shared = tempfile.gettempdir()
        # Without them, podman asks for as much as this machine gives to nobody.
        limits = ("--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096")
        given = [*self._init, "--network=none", *limits, f"--env=PATH={path}", *mounts, f"--volume={shared}:{shared}"]
        self.run("run", "--detach", f"--name={name}", *given, "empty", "/usr/bin/sleep", "infinity")
        try:
            yield Container(self, name)
        finally:
            self.tried("rm", "--force", name)


class Container:
    """One container that the tests have started, as somebody's own would be."""

    def __init__(self, engine: DockerEngine, name: str) -> None:
        self.engine = engine
        self.name = name

    def processes(self) -> dict[int, str]:
        """What runs inside beside the container's own process, by its number on this machine."""
        listed = self.engine.run("top", self.name, *WHOLE_LINES).splitlines()[1:]
        found = {int(pid): args for pid, args in (line.split(maxsplit=1) for line in listed)}
        return {pid: args for pid, args in found.items() if "sleep infinity" not in args and "<defunct>" not in args}

    def kill(self) -> None:
        self.engine.run("kill", self.name)

    def start(self) -> None:
        self.engine.run("start", self.name)


def shown_programs() -> Iterator[tuple[str, str]]:
    """The machine's programs, this Python and this checkout, each where it is outside."""
    yield "/usr", "/usr"
    for name in ("/bin", "/lib", "/lib64"):
        if Path(name).is_dir():
            yield str(Path(name).resolve()), name
    yield from {(folder, folder) for folder in (sys.base_prefix, sys.prefix, str(ROOT)) if not _below_usr(folder)}


def _below_usr(folder: str) -> bool:
    return Path(folder).is_relative_to("/usr")


NEEDED = ("dockerd", "docker", "unshare", "ip", "iptables")


def installed() -> bool:
    return os.geteuid() == 0 and all(shutil.which(program) for program in NEEDED)


@cache
def running_engine() -> DockerEngine:
    """One engine for all tests of one worker, from the first that needs it to the end of the process."""
    folder = Path(tempfile.mkdtemp(prefix="bascule-docker-"))
    engine = DockerEngine(folder, dockerd(folder))
    atexit.register(engine.stop)
    engine.wait()
    return engine


@contextmanager
def engine_of_its_own(*options: str) -> Generator[DockerEngine]:
    """One that a test may crash. Skips where there can be none."""
    if not installed():
        pytest.skip(MISSING)
    folder = Path(tempfile.mkdtemp(prefix="bascule-docker-"))
    with _living(DockerEngine(folder, dockerd(folder, *options))) as engine:
        yield engine


@contextmanager
def podman_engine() -> Generator[DockerEngine]:
    """The same by podman. Skips where it is not installed."""
    if not installed() or not all(shutil.which(program) for program in ("podman", "runc")):
        pytest.skip("podman is not installed (Debian: apt-get install podman runc)")
    folder = Path(tempfile.mkdtemp(prefix="bascule-podman-"))
    with _living(DockerEngine(folder, podman(folder))) as engine:
        yield engine


@contextmanager
def _living(engine: DockerEngine) -> Generator[DockerEngine]:
    try:
        engine.wait()
        yield engine
    finally:
        engine.stop()


@contextmanager
def reached() -> Generator[DockerEngine]:
    """The engine, as the one that clients find. Skips where there can be none."""
    if not installed():
        pytest.skip(MISSING)
    with as_found(running_engine()) as engine:
        yield engine


@contextmanager
def as_found(engine: DockerEngine) -> Generator[DockerEngine]:
    """Clients find this engine for the length of the block."""
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = engine.host
    try:
        yield engine
    finally:
        os.environ.pop("DOCKER_HOST")
        if before is not None:
            os.environ["DOCKER_HOST"] = before
