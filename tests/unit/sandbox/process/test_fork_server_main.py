"""The nursery's own life, in a real process."""

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress

import psutil

from support.outside import BROOD, Line, outside, somebody

DEAF = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.pause()"
FAR = f"import subprocess, sys, signal; subprocess.Popen([sys.executable, '-c', {DEAF!r}], start_new_session=True)"


def order(orders: Line) -> Line:
    """A line to a keeper of its own."""
    ours, theirs = socket.socketpair()
    with theirs:
        socket.send_fds(orders.socket, [b"k"], [theirs.fileno()])
    return Line(ours)


def running(line: Line, code: str = "import signal; signal.pause()") -> tuple[int, int]:
    """The pids of a keeper and its server."""
    keeper = line.hear()["keeper"]
    line.start(sys.executable, "-S", "-c", code)
    return keeper, line.hear()["server"]


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def beneath(process: subprocess.Popen[bytes]) -> set[int]:
    with suppress(psutil.NoSuchProcess):
        return {child.pid for child in psutil.Process(process.pid).children(recursive=True)}
    return set()


def test_every_socket_gets_a_keeper_of_its_own():
    with outside(BROOD, -1) as (orders, process):
        lines = [order(orders) for _ in range(3)]
        keepers, servers = zip(*map(running, lines), strict=True)

        assert beneath(process) == {*keepers, *servers}
        assert {psutil.Process(pid).name() for pid in keepers} == {"bascule-keeper"}
        for line in lines:
            line.say({"end": "kill"})
            assert line.hear() == {"exit": -signal.SIGKILL, "left": []}
            line.socket.close()
        until(lambda: beneath(process) == set())


def test_it_ends_when_no_more_keepers_are_wanted_and_not_before_the_last_has_ended():
    with outside(BROOD, -1) as (orders, process):
        with order(orders).socket as held:
            running(Line(held))
            orders.socket.shutdown(socket.SHUT_RDWR)
            until(lambda: len(beneath(process)) == 2)
            assert process.poll() is None

        assert process.wait(20) == 0


def test_it_ends_with_us_though_somebody_holds_its_sockets_open():
    with somebody() as (owner, us), outside(BROOD, owner) as (orders, process):
        line = order(orders)
        running(line)
        us.kill()

        assert process.wait(20) == 0
        line.socket.close()


def test_what_a_killed_keeper_leaves_is_ended_and_the_others_are_left_alone():
    with outside(BROOD, -1) as (orders, process):
        victim, other = order(orders), order(orders)
        keeper, _ = running(victim, f"{FAR}; signal.pause()")
        kept = running(other)
        until(lambda: len(beneath(process)) == 5)
        os.kill(keeper, signal.SIGKILL)

        assert victim.hear() is None
        until(lambda: beneath(process) == {*kept})
        other.say({"end": "kill"})
        assert other.hear()["exit"] == -signal.SIGKILL
        for line in (victim, other):
            line.socket.close()


FULL = """
import errno, os
def fork():
    raise OSError(errno.EAGAIN, "no more processes")
os.fork = fork
"""


def test_a_keeper_that_cannot_be_made_is_refused():
    with outside(FULL + BROOD, -1) as (orders, _):
        line = order(orders)
        assert line.hear() == {"refused": [errno.EAGAIN, "no more processes", ""]}
        line.socket.close()


def test_a_word_without_a_socket_is_nothing():
    with outside(BROOD, -1) as (orders, _):
        orders.socket.sendall(b"k")
        line = order(orders)
        assert "keeper" in line.hear()
        line.socket.close()
