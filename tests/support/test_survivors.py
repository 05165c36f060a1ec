import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import survivors as subject
from support.nasty import Nasties


@pytest.fixture(autouse=True)
def a_short_limit(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(subject, "LIMIT", 0.05)


async def test_what_carries_the_marker_is_found_told_and_ended():
    marked = {**os.environ, "MARKED": "so"}
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE, env=marked) as process:
        assert subject.carrying("MARKED=so") == [process.pid]
        assert await subject.survivors("MARKED=so") == [f"{process.pid}: {sys.executable} -S -c input() "]
        subject.end_all("MARKED=so")
        assert process.wait(10) == -9

    assert await subject.survivors("MARKED=so") == []


def test_nasty_servers_are_up_when_each_has_written_so(tmp_path: Path):
    nasty = Nasties(tmp_path, kinds=("setsid", "fork-bomb"))
    assert not nasty.up()
    for _, name in nasty.names:
        (tmp_path / name).write_text("1\n")
    assert not nasty.up()
    (tmp_path / "fork-bomb-0").write_text("1\n" * 50)
    assert nasty.up()
