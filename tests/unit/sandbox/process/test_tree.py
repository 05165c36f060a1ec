"""Process trees, each grown and felled in a process of its own: what is ended is everything beneath that."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.sandbox.process import tree
from support.outside import PATIENCE, somebody

SCRIPT = """
import os, signal, sys, time
from bascule.sandbox.process import tree

codes = {}

def fork(then):
    pid = os.fork()
    if pid == 0:
        try:
            then()
        finally:
            os._exit(0)
    return pid

def stay():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    while True:
        signal.pause()

def until(true):
    while not true():
        time.sleep(0.001)

def count(number):
    until(lambda: len(tree.beneath(os.getpid())) == number)

def cleared(seconds=10.0):
    return tree.clear(codes.__setitem__, seconds)

assert tree.adopt_orphans()
"""


def grown(script: str) -> list[str]:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT + script], stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True
    )
    return ended.stdout.split("\n")[:-1]


def test_an_orphan_in_a_session_of_its_own_is_found_and_ended():
    script = """
def daemon():
    os.setsid()
    fork(lambda: (os.setsid(), stay()))
first = fork(daemon)
os.waitpid(first, 0)
count(1)
print(cleared(), tree.beneath(os.getpid()), list(codes.values()))
"""
    assert grown(script) == ["[] [] [-9]"]


def test_with_nothing_beneath_there_is_nothing_to_do():
    assert grown("print(cleared())") == ["[]"]


def test_parents_come_before_their_children_and_what_is_spared_is_left_out():
    script = """
def three():
    fork(lambda: (fork(stay), stay()))
    stay()
mine, spared = fork(three), fork(three)
count(6)
found = tree.beneath(os.getpid(), [spared])
print(len(found), found[0] == mine, all(tree.parent_of(pid) == above for above, pid in zip(found, found[1:])))
print(tree.clear(codes.__setitem__, 10, lambda: [spared]), len(tree.beneath(os.getpid())), spared in codes)
print(cleared())
"""
    assert grown(script) == ["3 True True", "[] 3 False", "[]"]


def test_all_are_found_where_the_kernel_lists_no_children():
    script = """
fork(lambda: (fork(stay), stay()))
count(2)
before = tree.beneath(os.getpid())
os.path.exists = lambda path: False
print(tree.beneath(os.getpid()) == before, cleared())
"""
    assert grown(script) == ["True []"]


@pytest.mark.long
def test_nobody_is_left_to_see_another_die_and_to_start_it_again(tmp_path: Path):
    """All are stopped before one is killed. Who is last in line has time enough to see the first one's death, else."""
    script = f"""
def watch(other):
    handle = os.pidfd_open(other)
    import select
    select.select([handle], [], [])
    open({str(tmp_path / "seen")!r}, "w")
first = fork(stay)
for _ in range(300):
    fork(stay)
fork(lambda: watch(first))
count(302)
print(cleared(), tree.beneath(os.getpid()))
"""
    assert grown(script) == ["[] []"]
    assert not (tmp_path / "seen").exists()


def test_what_forks_all_the_while_is_ended():
    script = """
def storm():
    while True:
        fork(lambda: (os.setsid(), time.sleep(0.05)))
        time.sleep(0.001)
for _ in range(3):
    fork(storm)
until(lambda: len(tree.beneath(os.getpid())) > 20)
print(cleared(), tree.beneath(os.getpid()))
"""
    assert grown(script) == ["[] []"]


def test_what_cannot_be_ended_in_time_is_told():
    script = """
pid = fork(stay)
tree.tell = lambda *_: None
print(cleared(0.05) == [pid])
os.kill(pid, signal.SIGKILL)
"""
    assert grown(script) == ["True"]


def test_a_process_dies_with_the_one_that_made_it():
    script = """
def mortal():
    tree.die_with_parent()
    print("ready", flush=True)
    stay()
def parent():
    fork(mortal)
    stay()
first = fork(parent)
count(2)
mortal = tree.beneath(os.getpid())[1]
time.sleep(0.05)
os.kill(first, signal.SIGKILL)
until(lambda: not tree.reap(codes.__setitem__))
print(codes[mortal])
"""
    assert grown(script) == ["ready", "-9"]


def test_the_name_can_be_told():
    assert grown("print(tree.be_called(b'bascule-keeper'), open('/proc/self/comm').read().strip())") == [
        "True bascule-keeper"
    ]


def test_who_is_not_of_the_family_is_not_signalled():
    with somebody() as (_, process):
        tree.tell([process.pid], signal.SIGKILL, {1})
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(0.3)

        tree.tell([process.pid], signal.SIGKILL, {os.getpid()})
        assert process.wait(PATIENCE) == -signal.SIGKILL
        tree.tell([process.pid], signal.SIGKILL, {os.getpid()})


def test_a_name_full_of_parentheses_does_not_hide_a_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "7").mkdir()
    (tmp_path / "7" / "stat").write_text("7 (a) S 1 (b)) S 42 7 7 0")
    monkeypatch.setattr(tree, "PROC", str(tmp_path))

    assert tree.parent_of(7) == 42
    assert tree.parent_of(8) is None
    assert not tree.visible()


@pytest.mark.parametrize("platform", ["darwin", "linux"])
def test_elsewhere_nothing_is_adopted(platform: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "platform", platform)
    if platform == "linux":
        monkeypatch.setitem(sys.modules, "ctypes", None)
    tree._system_call.cache_clear()
    try:
        assert not tree.adopt_orphans()
    finally:
        tree._system_call.cache_clear()


def test_without_handles_on_processes_nothing_is_visible(monkeypatch: pytest.MonkeyPatch):
    assert tree.visible()
    monkeypatch.delattr(os, "pidfd_open")
    assert not tree.visible()
