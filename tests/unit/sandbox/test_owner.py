"""To whom boxes belong."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.owner import LOCK, RUN, Owner, forget, left_behind
from support.waiting import until

KILLED = """
import sys, time
from pathlib import Path
from bascule.sandbox.owner import Owner
owner = Owner(Path(sys.argv[1]))
print(owner.id, flush=True)
time.sleep(60)
"""


def test_an_owner_has_a_folder_for_as_long_as_it_lives(tmp_path: Path):
    owner = Owner(tmp_path)
    assert owner.folder == tmp_path / RUN / owner.id
    assert (owner.folder / LOCK).stat().st_mode & 0o777 == 0o600
    assert owner.folder.stat().st_mode & 0o777 == 0o700
    owner.release()
    owner.release()
    assert list((tmp_path / RUN).iterdir()) == []


FORKING = """
import os, sys, time
from pathlib import Path
from bascule.sandbox.owner import Owner
owner = Owner(Path(sys.argv[1]))
print(owner.liveness_pipe("a"), flush=True)
if os.fork() == 0:
    print(os.getpid(), flush=True)
time.sleep(60)
"""


def no_writer(reader: int) -> bool:
    try:
        return not os.read(reader, 1)
    except BlockingIOError:
        return False


async def test_the_pipe_ends_with_the_process_and_not_with_its_forks(tmp_path: Path):
    process = subprocess.Popen([sys.executable, "-c", FORKING, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        pipe = Path(process.stdout.readline().strip())
        fork = os.pidfd_open(int(process.stdout.readline()))
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        try:
            os.kill(process.pid, signal.SIGSTOP)
            assert not no_writer(reader)
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            await until(lambda: no_writer(reader))
            assert list(left_behind(tmp_path)) == [pipe.parent.name]
        finally:
            signal.pidfd_send_signal(fork, signal.SIGKILL)
            os.close(fork)
            os.close(reader)


def test_the_pipe_is_made_once_and_ends_with_its_owner(tmp_path: Path):
    owner = Owner(tmp_path)
    pipe = owner.liveness_pipe("a")
    assert owner.liveness_pipe("a") == pipe
    assert owner.liveness_pipe("b") != pipe
    assert pipe.stat().st_mode & 0o777 == 0o444
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert not no_writer(reader)
        owner.release()
        assert no_writer(reader)
    finally:
        os.close(reader)


def test_the_pipe_of_a_removed_container_is_closed_and_gone(tmp_path: Path):
    owner = Owner(tmp_path)
    pipes = [owner.liveness_pipe(name) for name in ("a", "b")]
    readers = [os.open(pipe, os.O_RDONLY | os.O_NONBLOCK) for pipe in pipes]
    try:
        owner.forget_container("a")
        owner.forget_container("a")
        assert [no_writer(reader) for reader in readers] == [True, False]
        assert [pipe.exists() for pipe in pipes] == [False, True]
    finally:
        for reader in readers:
            os.close(reader)
        owner.release()


def test_a_pipe_that_cannot_be_made_is_reported_with_what_to_do(tmp_path: Path):
    owner = Owner(tmp_path)
    (owner.folder / "alive-a").touch()
    with pytest.raises(SandboxError, match="cannot be made") as caught:
        owner.liveness_pipe("a")
    assert "BASCULE_HOME" in caught.value.fix
    owner.release()


def test_one_that_lives_is_never_taken_for_one_that_was_left_behind(tmp_path: Path):
    owners = [Owner(tmp_path) for _ in range(3)]
    assert len({owner.id for owner in owners}) == 3
    assert list(left_behind(tmp_path)) == []
    for owner in owners:
        owner.release()


def test_one_that_was_killed_is_found_and_can_be_forgotten(tmp_path: Path):
    process = subprocess.Popen([sys.executable, "-c", KILLED, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        name = process.stdout.readline().strip()
        assert list(left_behind(tmp_path)) == []
        os.kill(process.pid, signal.SIGKILL)
        process.wait()

    assert list(left_behind(tmp_path)) == [name]
    forget(tmp_path, name)
    assert list(left_behind(tmp_path)) == []


def test_where_there_never_was_one_none_is_found(tmp_path: Path):
    assert list(left_behind(tmp_path)) == []


def test_what_is_being_made_or_is_no_owners_is_left_alone(tmp_path: Path):
    (tmp_path / RUN / ".half-made").mkdir(parents=True)
    (tmp_path / RUN / ".half-made" / LOCK).touch()
    (tmp_path / RUN / "something").mkdir()
    assert list(left_behind(tmp_path)) == []
