"""What goes wild in a box is contained or ended, and a box beside it does not notice."""

import asyncio
import errno
import json
import os
import sys
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from bascule.config.model.sandbox import HostPath, Sandbox
from bascule.core.errors import SandboxError
from bascule.core.sensitivity import Lane
from bascule.sandbox.spec.engine import NOT_BOUNDED, Engine
from support.boxes import engine as engine  # noqa: PLC0414 -- a fixture
from support.boxes import ordered, python, run_in

SMALL = Sandbox(memory=128 * 1024**2, pids=32, disk=16 * 1024**2)

NEIGHBOUR = """
import subprocess, time
for _ in range(8):
    assert subprocess.run(["/bin/true"]).returncode == 0
    open("/tmp/file", "wb").write(bytearray(1 << 20))
    time.sleep(0.1)
print("well")
"""

FORK_BOMB = """
import os, time
made, told = 0, ""
for _ in range(500):
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        made += 1
    except OSError as error:
        told = error.errno
print(made, told, flush=True)
time.sleep(0.5)
os._exit(0)
"""

MEMORY_HOG = """
held = []
for _ in range(80):
    held.append(bytearray(b"x" * (8 << 20)))
print("all of it")
"""

SHARED_MEMORY_HOG = """
import mmap, os, sys
held = []
for _ in range(80):
    if sys.argv[1] == "memfd":
        descriptor = os.memfd_create("held")
        os.write(descriptor, bytes(8 << 20))
        held.append(descriptor)
    else:
        held.append(mmap.mmap(-1, 8 << 20))
        held[-1].write(bytes(8 << 20))
print("all of it")
"""

DISK_FILLER = """
import json
written = {}
for folder in ("/tmp", "/home/box", "/dev/shm", "/", "/usr", "/etc", "/run", "/run/bascule", "/dev", "/proc", "/home"):
    try:
        with open(f"{folder}/filler", "wb") as file:
            written[folder] = 0
            for _ in range(64):
                written[folder] += file.write(bytes(1 << 20))
                file.flush()
    except OSError as error:
        written[folder] = [written.get(folder, 0), error.errno]
print(json.dumps(written))
"""

INODES = """
made = 0
try:
    for made in range(100_000):
        open(f"/tmp/{made}", "w").close()
except OSError as error:
    print(made, error.errno)
"""

RUN_FROM_TMP = """
import os, shutil, subprocess
shutil.copy("/bin/true", "/tmp/true")
os.chmod("/tmp/true", 0o755)
try:
    print(subprocess.run(["/tmp/true"]).returncode)
except OSError as error:
    print(error.errno)
"""

CALLS = """
import ctypes, json, os
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    return -ctypes.get_errno() if libc.syscall(number, *arguments) < 0 else 0
numbers = {"x86_64": {"mount": 165, "unshare": 272, "ptrace": 101, "bpf": 321, "keyctl": 250, "chroot": 161, "userfaultfd": 323,
                      "perf": 298, "handle": 304, "module": 175, "clone3": 435, "io_uring": 425, "fsopen": 430},
           "aarch64": {"mount": 40, "unshare": 97, "ptrace": 117, "bpf": 280, "keyctl": 219, "chroot": 51, "userfaultfd": 282,
                       "perf": 241, "handle": 265, "module": 105, "clone3": 435, "io_uring": 425, "fsopen": 430}}
folder = ctypes.create_string_buffer(128)
arguments = {"mount": (b"none", b"/tmp", b"tmpfs", 0, 0), "unshare": (0x10000000,), "ptrace": (0, 0, 0, 0), "bpf": (0, folder, 128),
             "keyctl": (0, -3, 1), "chroot": (b"/tmp",), "io_uring": (8, folder), "fsopen": (b"tmpfs", 0)}
print(json.dumps({name: call(number, *arguments.get(name, (0, 0, 0, 0)))
                  for name, number in numbers[os.uname().machine].items()}))
"""

LOOKS_AROUND = """
import os
for path in [f"/proc/{pid}/{what}" for pid in os.listdir("/proc") if pid.isdigit() for what in ("environ", "cmdline")]:
    try:
        print(open(path).read().replace("\\0", " "))
    except OSError:
        pass
print(open("/proc/self/mountinfo").read())
print(os.environ)
"""


async def beside(engine: Engine, code: str, settings: Sandbox = SMALL) -> tuple[int, str]:
    """Run something wild, and a quiet neighbour at the same time."""
    wild, quiet = await asyncio.gather(
        run_in(engine, ordered(*python(code), settings=settings)),
        run_in(engine, ordered(*python(NEIGHBOUR), settings=SMALL)),
    )
    assert (quiet.code, quiet.output) == (0, "well\n")
    return wild.code, wild.output


@pytest.mark.long
async def test_a_fork_bomb_makes_no_more_processes_than_it_may(engine: Engine) -> None:
    bomb = f"# {uuid4()}\n{FORK_BOMB}"
    code, output = await beside(engine, bomb)
    made, told = output.split()
    assert code == 0
    assert 1 <= int(made) < SMALL.pids
    assert int(told) == errno.EAGAIN
    # Each that it made has the whole of its code on its command line.
    assert not [each.pid for each in psutil.process_iter(["cmdline"]) if bomb in (each.info["cmdline"] or ())]


@pytest.mark.long
async def test_a_memory_hog_does_not_get_it(engine: Engine) -> None:
    code, output = await beside(engine, MEMORY_HOG)
    assert code != 0
    assert "all of it" not in output


@pytest.mark.long
@pytest.mark.parametrize("kind", ["memfd", "mapping"])
async def test_shared_memory_is_bounded_as_reported(engine: Engine, kind: str) -> None:
    ended = await run_in(engine, ordered(*python(SHARED_MEMORY_HOG, kind), settings=SMALL))
    assert ("all of it" in ended.output) == (NOT_BOUNDED in engine.bounds()["memory"])


async def test_a_disk_is_filled_as_far_as_it_may_and_nowhere_else(engine: Engine) -> None:
    code, output = await beside(engine, DISK_FILLER)
    assert code == 0
    written = json.loads(output)
    own = {folder: written.pop(folder) for folder in ("/tmp", "/home/box", "/dev/shm")}
    assert sum(amount if isinstance(amount, int) else amount[0] for amount in own.values()) <= SMALL.disk
    assert any(isinstance(amount, list) and amount[1] in {errno.ENOSPC, errno.EFBIG} for amount in own.values())
    assert all(amount[0] == 0 for amount in written.values()), written


@pytest.mark.long
async def test_empty_files_are_bounded_too(engine: Engine) -> None:
    _, output = await beside(engine, INODES)
    made, told = map(int, output.split())
    assert (made < 10_000, told) == (True, errno.ENOSPC)


async def test_what_is_written_to_tmp_cannot_be_run_there(engine: Engine) -> None:
    assert await beside(engine, RUN_FROM_TMP) == (0, f"{errno.EACCES}\n")


async def test_calls_that_lead_out_of_a_box_are_refused(engine: Engine) -> None:
    ended = await run_in(engine, ordered(*python(CALLS)))
    answers = json.loads(ended.output)
    assert answers.pop("clone3") == answers.pop("io_uring") == -errno.ENOSYS
    assert set(answers.values()) == {-errno.EPERM}, answers


async def test_no_secret_of_ours_is_anywhere_in_a_box(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_OWN_SECRET", "hunter2-hunter2")
    ended = await run_in(engine, ordered(*python(LOOKS_AROUND), env={"TOKEN": "configured-token"}))
    assert ended.code == 0
    assert "configured-token" in ended.output
    assert "hunter2" not in ended.output
    assert os.environ["BASCULE_HOME"] not in ended.output
    assert str(Path.home() / ".ssh") not in ended.output


@pytest.mark.long
async def test_what_was_configured_is_seen_in_no_command_on_this_machine(engine: Engine) -> None:
    code = "import time; print('there', flush=True); time.sleep(1.5)"
    running = asyncio.create_task(run_in(engine, ordered(*python(code), env={"TOKEN": "configured-token"})))
    seen = 0
    while not running.done():
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or []
            seen += any(code in word for word in words)
            assert not any("configured-token" in word for word in words)
        await asyncio.sleep(0.05)
    assert (await running).output == "there\n"
    assert seen


async def test_a_workspace_is_written_to_and_what_is_read_is_not(engine: Engine, tmp_path: Path) -> None:
    data, workspace = tmp_path / "data", tmp_path / "workspace"
    for folder in (data, workspace):
        folder.mkdir()
    (data / "file").write_text("to be read")
    code = f"""
print(open({str(data / "file")!r}).read())
open("/workspace/made", "w").write("kept")
try:
    open({str(data / "new")!r}, "w")
except OSError as error:
    print(error.errno)
"""
    ended = await run_in(engine, ordered(*python(code, str(data)), workspace=str(workspace)))
    assert ended.output.split("\n")[:2] == ["to be read", str(errno.EROFS)]
    assert (workspace / "made").read_text() == "kept"
    assert list(data.iterdir()) == [data / "file"]


async def test_our_own_state_is_hidden_where_a_folder_around_it_is_shown(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "around/state"
    state.mkdir(parents=True)
    # Whoever the server is, in whichever engine.
    (tmp_path / "around").chmod(0o777)
    (state / "key").write_text("hunter2-hunter2")
    monkeypatch.setenv("BASCULE_HOME", str(state))
    settings = Sandbox(mounts=(HostPath(str(tmp_path / "around"), "rw"),))
    code = f"import os; print(os.listdir({str(state)!r})); open({str(tmp_path / 'around/x')!r}, 'w')"
    ended = await run_in(engine, ordered(*python(code), settings=settings))
    assert (ended.code, ended.output) == (0, "[]\n")
    assert (tmp_path / "around/x").exists()


async def test_what_takes_too_long_is_ended_with_all_that_it_started(engine: Engine) -> None:
    mark = f"bascule-{os.getpid()}-sleeper"
    code = "import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(100)', sys.argv[1]], start_new_session=True); time.sleep(100)"
    with pytest.raises(SandboxError):
        await run_in(engine, ordered(*python(code, mark)), timeout=3.0)
    # What is killed may still be on its way out of the kernel.
    found = [process for process in psutil.process_iter(["cmdline"]) if mark in (process.info["cmdline"] or [])]
    assert psutil.wait_procs(found, timeout=5)[1] == []


@pytest.mark.parametrize("lane", list(Lane))
@pytest.mark.long
async def test_a_server_knows_its_lane_and_who_it_is(engine: Engine, lane: Lane) -> None:
    code = "import os, pwd; print(os.environ['BASCULE_LANE'], os.environ['HOME'], os.getcwd(), os.getuid() > 0, pwd.getpwuid(os.getuid()).pw_name)"
    ended = await run_in(engine, ordered(sys.executable, "-c", code, lane=lane))
    assert ended.output == f"{lane.value} /home/box /home/box True box\n"
