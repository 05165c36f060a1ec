"""One keeper and one server, in real processes, spoken to over its socket."""

import errno
import json
import os
import resource
import signal
import socket
import sys
import time
from contextlib import suppress
from typing import Any

import psutil
import pytest

from bascule.sandbox.process.reaper import KILLING, POLITE, refusal
from support.outside import Line, keeper, somebody

PYTHON = (sys.executable, "-S", "-E", "-c")
STAY = "import signal; signal.pause()"
DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); signal.pause()"
FAR = f"import subprocess, sys; print(subprocess.Popen([sys.executable, '-S', '-c', {DEAF!r}], start_new_session=True).pid"
"""Begins a program that has started another, far away, and goes on as what follows says."""


def started(line: Line, *argv: str, **how: Any) -> int:
    """The pid of a server that runs."""
    assert line.hear().keys() == {"keeper", "reach"}
    line.start(*argv, **how)
    return line.hear()["server"]


def with_output(line: Line, code: str, lines: int = 1) -> tuple[int, list[str]]:
    """A server that runs, and the first lines it has written."""
    reading, writing = os.pipe()
    try:
        pid = started(line, *PYTHON, code, pipes=[writing] * 3)
    finally:
        os.close(writing)
    with os.fdopen(reading) as output:
        return pid, [output.readline().strip() for _ in range(lines)]


def gone(*pids: int) -> bool:
    return not any(psutil.pid_exists(pid) for pid in pids)


def test_a_keeper_greets_starts_the_server_and_tells_its_end():
    with keeper() as (line, process):
        assert line.hear() == {"keeper": process.pid, "reach": "tree"}
        line.start(*PYTHON, "raise SystemExit(7)")
        pid = line.hear()["server"]

        assert line.hear() == {"exit": 7, "left": []}
        assert line.hear() is None
        assert gone(pid)


def test_a_server_killed_by_a_signal_ends_with_its_number():
    with keeper() as (line, _):
        os.kill(started(line, *PYTHON, STAY), signal.SIGKILL)

        assert line.hear()["exit"] == -signal.SIGKILL


@pytest.mark.parametrize(
    ("argv", "how", "trouble"),
    [
        (["/no/such/program"], {}, [errno.ENOENT, "No such file or directory", "/no/such/program"]),
        (["/bin/cat"], {"cwd": "/no/such/folder"}, [errno.ENOENT, "No such file or directory", "/no/such/folder"]),
        (["/etc/passwd"], {}, [errno.EACCES, "Permission denied", "/etc/passwd"]),
        (["/bin/cat", "a\0b"], {}, [0, "embedded null byte", ""]),
        (["/bin/cat"], {"env": {"A=B": "c"}}, [0, "illegal environment variable name", ""]),
        (["/bin/cat"], {"pipes": []}, [errno.EMFILE, "Too many open files", ""]),
    ],
    ids=["program", "folder", "leave", "argument", "variable", "pipes"],
)
def test_what_cannot_be_started_is_told_with_what_is_in_the_way(
    argv: list[str], how: dict[str, Any], trouble: list[Any]
):
    with keeper() as (line, _):
        line.hear()
        line.start(*argv, **how)

        assert line.hear() == {"refused": trouble}
        assert line.hear() is None


def test_an_order_larger_than_any_buffer_arrives_whole():
    code = "import os, sys; sys.exit(sum(len(value) for name, value in os.environ.items() if name[0] == 'V') % 251)"
    with keeper() as (line, _):
        started(line, *PYTHON, code, env={f"V{number}": "x" * 100_000 for number in range(10)})

        assert line.hear()["exit"] == 1_000_000 % 251


def test_a_server_has_what_it_was_ordered_with_and_nothing_of_its_keepers():
    code = (
        "import json, os, resource, signal; ignored = [line.split()[1] for line in open('/proc/self/status')"
        " if line.startswith(('SigIgn', 'SigBlk'))]; umask = os.umask(0); print(json.dumps([umask, os.nice(0),"
        " resource.getrlimit(resource.RLIMIT_CORE), [int(mask, 16) for mask in ignored], dict(os.environ), os.getsid(0)]))"
    )
    reading, writing = os.pipe()
    with keeper() as (line, _):
        limits = [(resource.RLIMIT_CORE, 0, 0), (resource.RLIMIT_NOFILE, 1 << 40, 1 << 40)]
        ordered: dict[str, Any] = {
            "umask": 0o31,
            "nice": os.nice(0) + 1,
            "limits": limits,
            "env": {"A": "1", "LC_ALL": "C.UTF-8"},
        }
        pid = started(line, *PYTHON[:1], "-I", "-S", "-c", code, pipes=[writing] * 3, **ordered)
        os.close(writing)
        with os.fdopen(reading) as output:
            seen = json.loads(output.read())

    seen[3] = [mask & ~(3 << 31) for mask in seen[3]]  # two that the C library keeps to itself
    assert seen == [
        0o31,
        ordered["nice"],
        [0, 0],
        [0, 1 << (signal.SIGPIPE - 1) | 1 << (signal.SIGXFSZ - 1)],
        {**line.mark, **ordered["env"]},
        pid,
    ]


def test_term_is_for_the_servers_group_and_kill_for_everything():
    with keeper() as (line, _):
        code = f"{FAR}, flush=True)\n{DEAF}"
        pid, said = with_output(line, code, 2)
        far = int(next(filter(None, said)))
        line.say({"end": "term"})
        line.say({"end": "kill"})

        assert line.hear() == {"exit": -signal.SIGKILL, "left": []}
        assert gone(pid, far)


def test_term_ends_a_server_that_heeds_it():
    with keeper() as (line, _):
        started(line, *PYTHON, STAY)
        line.say({"end": "term"})

        assert line.hear()["exit"] == -signal.SIGTERM


def test_what_the_server_left_far_away_is_ended_before_its_end_is_told():
    with keeper() as (line, _):
        _, (far,) = with_output(line, f"{FAR}, flush=True)")

        assert line.hear() == {"exit": 0, "left": []}
        assert gone(int(far))


def test_orphans_do_not_pile_up():
    """Twenty children that each leave a child and end."""
    code = "import os\nfor _ in range(20):\n  if not os.fork(): os.fork(); os._exit(0)\nfor _ in range(20): os.wait()"
    with keeper() as (line, process):
        pid, _ = with_output(line, f"{code}\nprint(flush=True)\n{STAY}")
        deadline = time.monotonic() + 10
        while [child.pid for child in psutil.Process(process.pid).children(recursive=True)] != [pid]:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_when_we_hang_up_everything_may_end_by_itself_but_not_take_long():
    with keeper() as (line, process):
        pid, said = with_output(line, f"{FAR}, flush=True)\n{DEAF}", 2)
        line.socket.close()
        began = time.monotonic()
        process.wait(20)

        assert time.monotonic() - began >= POLITE
        assert gone(pid, int(next(filter(None, said))))


def test_our_end_is_noticed_though_somebody_holds_the_socket_open():
    with somebody() as (owner, process), keeper(owner) as (line, kept):
        pid = started(line, *PYTHON, STAY)
        process.kill()

        assert kept.wait(20) == 0
        assert gone(pid)


def test_half_an_order_starts_nothing():
    with keeper() as (line, process):
        line.hear()
        line.socket.sendall(b"\0\0\0\xff{")
        line.socket.shutdown(socket.SHUT_WR)

        assert line.hear() is None
        assert process.wait(20) == 0


@pytest.mark.parametrize("missing", [[], ["waitid"]], ids=["waitid", "no waitid"])
@pytest.mark.parametrize("way", ["exit", "kill", "hang up"])
def test_where_the_tree_cannot_be_seen_the_group_is_ended(missing: list[str], way: str):
    near = FAR.replace("start_new_session=True", "")
    with keeper(-1, *missing, sees_all=False) as (line, process):
        code = f"{near}, flush=True)\nimport sys; {'sys.exit(3)' if way == 'exit' else STAY}"
        _, said = with_output(line, code, 2)
        if way == "kill":
            line.say({"end": "kill"})
        if way == "hang up":
            line.socket.close()
        else:
            assert line.hear() == {"exit": 3 if way == "exit" else -signal.SIGKILL, "left": []}

        assert process.wait(20) == 0
        until_gone(int(next(filter(None, said))))


def until_gone(pid: int) -> None:
    """What the system has adopted is reaped whenever it pleases."""
    deadline = time.monotonic() + 10
    with suppress(psutil.NoSuchProcess):
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_keeper_that_is_killed_takes_the_server_with_it():
    with keeper(ends_well=False) as (line, process):
        pid = started(line, *PYTHON, STAY)
        process.kill()
        until_gone(pid)


def test_a_refusal_names_what_the_system_named():
    assert json.loads(refusal(OSError(2, "No such file", b"/caf\xe9"))) == {
        "refused": [2, "No such file", "/caf\udce9"]
    }
    assert json.loads(refusal(ValueError("odd"))) == {"refused": [0, "odd", ""]}


def test_all_of_it_fits_into_three_seconds():
    assert POLITE + KILLING < 3
