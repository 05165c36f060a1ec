import socket
from pathlib import Path

from bascule.kit.connectors.socket_deadline import Watch


def test_who_waits_too_long_is_woken():
    ours, theirs = socket.socketpair()
    with ours, theirs, Watch(0.05) as watch:
        watch.over(ours.fileno())
        assert ours.recv(1) == b""
        assert watch.fired


def test_what_comes_under_it_too_late_is_closed_at_once():
    ours, theirs = socket.socketpair()
    with ours, theirs, Watch(0.01) as watch:
        watch.over(ours.fileno())
        ours.recv(1)
        other, peer = socket.socketpair()
        with other, peer:
            watch.over(other.fileno())
            assert other.recv(1) == b""


def test_in_time_nothing_is_closed_and_nothing_is_left_open():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        before = len(list(Path("/proc/self/fd").iterdir()))
        with Watch(60) as watch:
            watch.over(ours.fileno())
        assert not watch.fired
        assert len(list(Path("/proc/self/fd").iterdir())) == before
        theirs.send(b"x")
        assert ours.recv(1) == b"x"
