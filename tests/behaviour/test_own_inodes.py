"""Sandboxes of private lanes have inodes of their own: locks and pipes in one folder do not meet, and a folder whose inodes
are shared is reported."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.core.sensitivity import DataSensitivity
from support import channels
from support.bwrap import skip_without_bubblewrap
from support.channel_ends import Shown, is_shared, seen, shown_folder, two_sessions
from support.command import BASCULE, environment
from support.waiting import fail_after

STACKED = """
cd data && mkdir empty below middle shown && echo text >below/file &&
mount -t overlay -o ro,lowerdir=empty:below overlay middle &&
mount -t overlay -o ro,lowerdir=empty:middle overlay shown || exit 90
cd ..
"$1" doctor --json >doctor.json
"$1" inspect end --json >inspect.json
"""
"""Makes an overlay of an overlay. The kernel allows two, so that no third can be made of that folder."""


@pytest.fixture
def shown() -> Iterator[Shown]:
    with shown_folder() as made:
        yield made


@pytest.mark.requirement("SBX-11")
async def test_locks_and_pipes_of_a_private_sandbox_do_not_meet_those_of_an_open_one(engine: str, shown: Shown):
    every = (("flock", shown.file), ("flock", "/usr/bin/yes"), ("flock", "/dev/null"), ("fifo", shown.fifo))
    cases = [case for case in every if not is_shared(engine, case[1])]
    async with two_sessions(shown, DataSensitivity.SECRET) as (sender, receiver):
        assert [await seen(sender, receiver, *case) for case in cases] == [["0"] * 3] * len(cases)


@pytest.mark.requirement("SBX-11")
async def test_a_private_sandbox_reads_the_same_files(engine: str, shown: Shown):
    """Its inodes are its own, and the bytes below them are those of the host."""
    async with two_sessions(shown, DataSensitivity.SECRET) as (sender, _):
        for path in (shown.file, str(shown.folder), "/usr/bin/yes", "/dev/null", "/etc/passwd"):
            assert await sender("send", "inotify", path) == "0", path
        assert await sender("send", "inotify", f"{shown.folder}/missing") == "ENOENT"


@pytest.mark.requirement("SBX-11")
async def test_doctor_and_inspect_name_a_folder_whose_inodes_are_shared(tmp_path: Path):
    skip_without_bubblewrap()
    folder = tmp_path / "data"
    folder.mkdir()
    python = os.path.realpath(sys.executable)
    server = {"command": python, "args": ["-I", "-S", channels.__file__, str(folder / "shown")]}
    (tmp_path / "bascule.yaml").write_text(json.dumps({"mcp_servers": {"end": server}}))
    apart = ("-m",) if os.geteuid() == 0 else ("-r", "-m")
    argv = ("unshare", *apart, "sh", "-c", STACKED, "sh", str(BASCULE))
    env = environment(tmp_path, {"BASCULE_SANDBOX": "bubblewrap"})
    process = await asyncio.create_subprocess_exec(*argv, cwd=tmp_path, env=env)
    async with fail_after(60):
        await process.wait()
    doctor, inspected = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("doctor", "inspect"))
    checks = [check for check in doctor["checks"] if "share inodes" in check["message"]]
    (check,) = [check for check in checks if check["subject"] == "sealed end"]
    assert str(folder / "shown") in check["message"]
    assert "Linux 5.11" in check["evidence"]
    assert str(folder / "shown") in inspected["box"]["shared_inodes"]
