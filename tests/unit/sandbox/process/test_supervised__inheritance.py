"""What a server has from us, though another process starts it."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.sandbox.process import supervised as subject
from bascule.sandbox.process.supervised import inheritance


def test_two_looks_at_the_same_process_agree():
    assert inheritance() == inheritance()


def test_what_goes_along_is_as_it_is_now():
    before = os.umask(0o27)
    try:
        passing = inheritance().passing
    finally:
        os.umask(before)

    assert passing["umask"] == 0o27
    assert passing["nice"] == os.nice(0)
    assert (resource.RLIMIT_NOFILE, *resource.getrlimit(resource.RLIMIT_NOFILE)) in passing["limits"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param("os.setgroups([65534])", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root may")),
        pytest.param("os.setuid(65534)", marks=pytest.mark.skipif(os.getuid() != 0, reason="only root may")),
        "ctypes.CDLL(None).prctl(38, 1, 0, 0, 0)",
        "os.fork() and (os.wait(), os._exit(0))",
    ],
    ids=["groups", "user", "no new privileges", "process"],
)
def test_who_has_become_somebody_else_stands_elsewhere(change: str):
    script = (
        "import ctypes, os, sys\nfrom bascule.sandbox.process.supervised import inheritance\n"
        f"before = inheritance().standing\n{change}\nprint(inheritance().standing != before, flush=True)\nos._exit(0)"
    )
    ended = subprocess.run([sys.executable, "-c", script], stdout=subprocess.PIPE, timeout=20, check=True)

    assert ended.stdout == b"True\n"


def test_a_mask_changes_nothing_about_where_we_stand():
    standing = inheritance().standing
    before = os.umask(0o77)
    try:
        assert inheritance().standing == standing
    finally:
        os.umask(before)


def test_where_the_system_tells_less_the_rest_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subject, "_PROC", str(tmp_path))

    assert inheritance().passing["umask"] is None
    assert inheritance().standing[0] == os.getpid()
