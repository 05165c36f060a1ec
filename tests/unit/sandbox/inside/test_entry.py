"""The first program in a box, where there is no box."""

import json
import os
import platform
import signal
import socket
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.inside import entry
from bascule.sandbox.spec.seccomp import filter_program, lane_filter

PROGRAM = Path(entry.__file__)

ALONE = """
import sys
sys.path.insert(0, {folder!r})
import entry, probes as proofs
proofs.leaks = lambda isolated: iter(())
entry.FORWARDER_WITHIN = 0.3
entry.main(["entry", *sys.argv[1:]])
"""
"""The first program, where it finds nothing wrong."""


def run(
    told: dict[str, Any], *argv: str, tight: bool = True, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    whole = {
        "mode": "become",
        "isolated": True,
        "forwarding": "none",
        "port": 1,
        "socket": "/x",
        "init": False,
        "raising": "",
        "descriptor": 3,
        "lane": "open",
        "filter": "",
        "decoys": "",
        "cwd": "/",
        "limits": {},
    }
    start = ["-c", ALONE.format(folder=str(PROGRAM.parent))] if tight else [str(PROGRAM)]
    command = [sys.executable, "-I", "-S", *start, json.dumps({**whole, **told}), *argv]
    return subprocess.run(command, capture_output=True, text=True, timeout=30, check=False, env=env or {})


def test_where_it_is_not_tight_the_server_never_runs(tmp_path: Path) -> None:
    ended = run({}, "/usr/bin/touch", str(tmp_path / "ran"), tight=False)
    assert ended.returncode == 97
    assert "not tight" in ended.stderr
    assert not (tmp_path / "ran").exists()


def test_it_becomes_the_server_with_the_environment_it_was_given() -> None:
    ended = run({}, "/usr/bin/env", env={"A": "1", "PYTHONPATH": "/x"})
    assert (ended.returncode, sorted(ended.stdout.split())) == (0, ["A=1", "PYTHONPATH=/x"])


def test_the_server_starts_in_its_folder_and_hears_signals(tmp_path: Path) -> None:
    ended = run({"cwd": str(tmp_path)}, "/bin/sh", "-c", "pwd; grep SigIgn /proc/self/status")
    # Whoever started the tests may have some ignored; those that Python ignores are heard again.
    ignored = next(line for line in Path("/proc/self/status").read_text().splitlines() if "SigIgn" in line)
    rest = int(ignored.split()[1], 16) & ~sum(1 << (number - 1) for number in (signal.SIGPIPE, signal.SIGXFSZ))
    assert ended.stdout.split() == [str(tmp_path), "SigIgn:", f"{rest:016x}"]


def test_limits_are_set_for_good() -> None:
    ended = run({"limits": {"RLIMIT_NOFILE": 64}}, "/bin/sh", "-c", "ulimit -Sn; ulimit -Hn")
    assert ended.stdout.split() == ["64", "64"]


def test_a_server_that_cannot_be_started_says_so() -> None:
    assert run({}, "/no/such/program").returncode == 127
    assert run({}, "/etc/hostname").returncode == 126
    assert "could not be started in its box" in run({"cwd": "/no/such"}, "/bin/true").stderr


def test_it_may_only_prove() -> None:
    assert run({"mode": "prove"}).returncode == 0


def test_without_a_way_to_the_proxy_the_server_never_runs(tmp_path: Path) -> None:
    ended = run({"forwarding": "wait"}, "/usr/bin/touch", str(tmp_path / "ran"))
    assert (ended.returncode, "nobody listens" in ended.stderr) == (97, True)
    assert not (tmp_path / "ran").exists()


REACHES = """
import os, socket, sys
def tried(way):
    try:
        way()
    except OSError as error:
        return os.strerror(error.errno)
    return "done"
with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_INET) as client:
    print(tried(lambda: socket.socket(socket.AF_UNIX)))
    print(tried(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)))
    print(tried(lambda: socket.socketpair()))
    print(tried(lambda: client.connect(server.getsockname())))
"""
NO_FAMILY, NO_ROUTE = "Address family not supported by protocol", "Network is unreachable"


@pytest.mark.parametrize(
    ("lane", "reached"),
    [
        (Lane.OPEN, ["done", "done", "done", "done"]),
        (Lane.PROXIED, [NO_FAMILY, NO_FAMILY, "done", "done"]),
        (Lane.SEALED, [NO_FAMILY, NO_FAMILY, "done", NO_ROUTE]),
    ],
)
def test_refuses_unix_sockets_in_private_lanes_and_connections_in_the_sealed_one(lane: Lane, reached: list[str]):
    told = {"lane": lane.value, "filter": lane_filter(platform.machine(), lane).hex()}
    ended = run(told, sys.executable, "-c", REACHES)
    assert ended.stdout.splitlines() == reached, ended.stderr


@pytest.mark.parametrize(
    ("lane", "finding"), [(Lane.PROXIED, "Unix socket"), (Lane.SEALED, "connections are not refused")]
)
def test_a_filter_that_refuses_too_little_keeps_the_server_from_running(lane: Lane, finding: str, tmp_path: Path):
    weaker = (
        lane_filter(platform.machine(), Lane.PROXIED) if lane is Lane.SEALED else filter_program(platform.machine())
    )
    ended = run({"lane": lane.value, "filter": weaker.hex()}, "/usr/bin/touch", str(tmp_path / "ran"))
    assert (ended.returncode, finding in ended.stderr) == (97, True)
    assert not (tmp_path / "ran").exists()


def test_a_filter_that_the_kernel_rejects_keeps_the_server_from_running(tmp_path: Path):
    ended = run({"lane": "sealed", "filter": "ff" * 8}, "/usr/bin/touch", str(tmp_path / "ran"))
    assert (ended.returncode, "did not take the filter" in ended.stderr) == (97, True)
    assert not (tmp_path / "ran").exists()


def test_the_server_inherits_a_connection_to_the_raise_socket():
    with TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{folder}/raise.sock")
        listening.listen()
        send = "import os; os.write(3, b'raised'); print(sorted(os.listdir('/proc/self/fd')))"
        ended = run({"raising": f"{folder}/raise.sock"}, sys.executable, "-c", send)
        connection, _ = listening.accept()
        with connection:
            assert connection.recv(99) == b"raised"
        # The fourth is the listing itself.
        assert ended.stdout.strip() == "['0', '1', '2', '3', '4']"


def test_a_raise_socket_that_is_gone_leaves_no_descriptor(tmp_path: Path):
    ended = run({"raising": str(tmp_path / "gone")}, sys.executable, "-c", "import os; os.write(3, b'x')")
    assert "Bad file descriptor" in ended.stderr


@contextmanager
def staying(pipe: Path) -> "Generator[subprocess.Popen[str]]":
    whole = {
        "mode": "stay",
        "isolated": True,
        "forwarding": "none",
        "lane": "open",
        "filter": "",
        "limits": {},
        "liveness": str(pipe),
    }
    command = [sys.executable, "-I", "-S", "-c", ALONE.format(folder=str(PROGRAM.parent)), json.dumps(whole)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as first:
        try:
            yield first
        finally:
            first.kill()


def a_fifo(folder: Path) -> tuple[Path, int]:
    """One with a writer, as a runtime has it."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    return pipe, os.open(pipe, os.O_RDWR)


@pytest.mark.parametrize("by", ["a signal", "its runtime"])
def test_it_stays_until_a_signal_or_the_end_of_its_runtime(tmp_path: Path, by: str) -> None:
    pipe, writer = a_fifo(tmp_path)
    with staying(pipe) as first:
        try:
            wait_until_it_listens(first.pid)
            # Neither an orphan nor a signal without a reason ends it.
            first.send_signal(signal.SIGIO)
            first.send_signal(signal.SIGCHLD)
            wait_until_it_listens(first.pid)
            assert first.poll() is None
            if by == "a signal":
                first.terminate()
            else:
                os.close(writer)
                writer = -1
            assert first.wait(10) == 0
        finally:
            if writer >= 0:
                os.close(writer)


def test_a_runtime_that_ends_before_the_first_program_waits_is_noticed(tmp_path: Path) -> None:
    pipe, writer = a_fifo(tmp_path)
    with staying(pipe) as first:
        assert first.stdout is not None
        # It has opened the pipe by now, and may not wait for signals yet.
        assert first.stdout.readline() == f"{entry.TIGHT}\n"
        os.close(writer)
        assert first.wait(10) == 0


def test_without_a_runtime_it_does_not_stay(tmp_path: Path) -> None:
    pipe, writer = a_fifo(tmp_path)
    os.close(writer)
    for path, reason in ((pipe, "no runtime holds the liveness pipe"), (tmp_path / "none", "No such file")):
        with staying(path) as first:
            out, err = first.communicate(timeout=10)
        assert (first.returncode, out) == (126, "")
        assert reason in err


def wait_until_it_listens(pid: int) -> None:
    waiting = {"x86_64": "128 ", "aarch64": "137 "}[os.uname().machine]
    for _ in range(3000):
        if Path(f"/proc/{pid}/syscall").read_text().startswith(waiting):
            return
        subprocess.run(["sleep", "0.01"], check=True)
    raise AssertionError("it does not begin to stay")
