import os
import signal
import subprocess
from pathlib import Path

import pytest

from support.docker import WHOLE_LINES
from support.waiting import until
from support.warm_box import WarmBox, box_with_python

COLD = os.environ.get("BASCULE_SOAK") == "1"
SEEN = "import os, sys; print('fastmcp' in sys.modules, os.uname().nodename == os.environ['HOSTNAME'], sys.argv[1])"


def argv(box: WarmBox, *words: str) -> list[str]:
    return ["docker", "--host", box.container.engine.host, "exec", box.container.name, box.python, *words]


def running(box: WarmBox) -> set[int]:
    listed = box.container.engine.run("top", box.container.name, *WHOLE_LINES).splitlines()[1:]
    return {int(line.split()[0]) for line in listed if "<defunct>" not in line}


@pytest.mark.long
def test_a_program_runs_in_the_container_and_has_imported_already_what_it_needs() -> None:
    with box_with_python() as box:
        ran = subprocess.run(argv(box, "-c", SEEN, "a word"), capture_output=True, text=True, timeout=60, check=False)
    assert (ran.stdout, ran.stderr) == (f"{not COLD} True a word\n", "")


@pytest.mark.long
async def test_the_program_is_gone_when_what_the_engine_started_was_killed() -> None:
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(600)"
    with box_with_python() as box:
        before = running(box)
        with subprocess.Popen(argv(box, "-c", code), stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            program = process.stdout.readline().decode().strip()
            found = {number_inside(pid): pid for pid in running(box) - before}
            assert program in found
            # What stands for it, if anything does.
            (started,) = [pid for number, pid in found.items() if COLD or number != program]
            os.kill(started, signal.SIGKILL)
            await until(lambda: running(box) <= before)


def number_inside(pid: int) -> str:
    """The number that a process has in its container."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line for line in lines if line.startswith("NSpid:")).split()[-1]
