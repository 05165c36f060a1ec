"""Which boxes there are, and the end of one."""

import subprocess
import sys
from pathlib import Path

import pytest

from bascule.sandbox.inventory import boxes_in, end_box, layers_in, remove_layer
from bascule.sandbox.owner import Owner


@pytest.fixture
def owner(tmp_path: Path):
    owner = Owner(tmp_path)
    yield owner
    owner.release()


def a_box(owner: Owner, name: str, pid: int) -> None:
    folder = owner.folder / "boxes" / name
    folder.mkdir(parents=True)
    (folder / "pid").write_text(str(pid))


async def test_boxes_of_runtimes_that_live_are_listed(owner: Owner, tmp_path: Path):
    environ = {"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    a_box(owner, "web-open-0123456789ab", 999_999_999)
    (box,) = await boxes_in(tmp_path, environ)
    assert (box.name, box.server, box.lane, box.orphaned) == ("web-open-0123456789ab", "web", "open", False)
    assert 0 <= box.seconds < 60


async def test_a_box_is_ended_by_its_name_and_no_other_process_is(owner: Owner, tmp_path: Path):
    environ = {"DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    sleep = "import time; time.sleep(60)"
    held = subprocess.Popen([sys.executable, "-c", sleep, "web-open-0123456789ab"])
    other = subprocess.Popen([sys.executable, "-c", sleep, "somebody"])
    try:
        a_box(owner, "web-open-0123456789ab", held.pid)
        a_box(owner, "web-open-ba9876543210", other.pid)
        assert await end_box(tmp_path, environ, "web-open-0123456789ab")
        assert held.wait(10) == -9
        # Its number is another process's by now.
        assert not await end_box(tmp_path, environ, "web-open-ba9876543210")
        assert other.poll() is None
        assert not await end_box(tmp_path, environ, "unknown")
    finally:
        for process in (held, other):
            process.kill()
            process.wait()


async def test_where_nothing_was_fetched_there_are_no_layers(tmp_path: Path):
    assert layers_in(tmp_path) == []
    assert not await remove_layer(tmp_path, "abc", 1)
