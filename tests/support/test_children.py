import os
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from support import children as subject


@pytest.fixture(autouse=True)
def a_short_moment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subject, "MOMENT", 0.05)


def a_child_that_stays() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)


def test_a_child_that_stays_is_named_and_ended():
    before = subject.children()
    with a_child_that_stays() as child:
        assert subject.left_behind(before) == [f"{child.pid}: {sys.executable} -c input()"]
        assert not psutil.pid_exists(child.pid)


def test_a_child_nobody_waited_for_is_named():
    before = subject.children()
    pid = os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {})
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)

    assert subject.left_behind(before) == [f"{pid}: has ended, but nobody waited for it"]


def test_a_child_that_was_there_before_is_left_alone():
    with a_child_that_stays() as child:
        assert subject.left_behind(subject.children()) == []
        assert child.poll() is None
        child.kill()


def test_children_are_found_without_the_kernels_list(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(subject, "_PROC", tmp_path / "absent")
    with a_child_that_stays() as child:
        assert child.pid in subject.children()
        child.kill()
