"""Waiting for several things at once, in a process of its own: signals belong to the whole process."""

import subprocess
import sys

from support.outside import PATIENCE, somebody

SCRIPT = """
import os, signal, sys, time
from bascule.sandbox.process.wait import IGNORED, Watch, hear_again, prick_up_ears
signal.signal(signal.SIGUSR1, signal.SIG_IGN)
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD, signal.SIGUSR2})
prick_up_ears()
"""


def ran(script: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT + script], stdout=subprocess.PIPE, text=True, timeout=PATIENCE, check=True
    )
    return ended.stdout.strip()


def test_the_end_of_a_child_ends_the_wait():
    script = """
watch = Watch(-1)
pid = os.fork()
if pid == 0:
    os._exit(0)
watch.wait()
print(os.waitpid(pid, os.WNOHANG)[0] == pid)
"""
    assert ran(script) == "True"


def test_a_wait_ends_with_its_time():
    assert ran("print(Watch(-1).wait(0.01))") == "set()"


def test_what_can_be_read_is_told_until_it_is_not_watched_any_more():
    script = """
watch = Watch(-1)
reading, writing = os.pipe()
os.write(writing, b"x")
watch.on(reading)
print(watch.wait() == {reading}, watch.wait(10) == {reading})
watch.only_children()
print(watch.wait(0.01))
watch.close()
"""
    assert ran(script).split("\n") == ["True True", "set()"]


def test_the_end_of_the_process_that_all_is_done_for_is_told():
    with somebody() as (handle, process):
        script = "watch = Watch(int(sys.argv[1]))\nprint(watch.bereft(watch.wait(0.01)), watch.bereft(watch.wait(20)))"
        with subprocess.Popen(
            [sys.executable, "-c", SCRIPT + script, str(handle)], stdout=subprocess.PIPE, pass_fds=[handle]
        ) as waiting:
            process.kill()
            out, _ = waiting.communicate(timeout=PATIENCE)

    assert out.split()[-1] == b"True"


def test_signals_for_us_are_ignored_and_nothing_else_is_whoever_started_it():
    script = """
ignored = {number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN}
print(ignored == set(IGNORED), signal.pthread_sigmask(signal.SIG_BLOCK, ()))
hear_again()
print(any(signal.getsignal(number) is signal.SIG_IGN for number in signal.valid_signals()))
"""
    assert ran(script).split("\n") == ["True set()", "False"]
