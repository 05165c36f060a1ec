"""Cgroups of boxes: the real ones where they may be made, and folders that look like them."""

import os
import subprocess
from pathlib import Path

import pytest

from bascule.sandbox.bubblewrap.cgroups import Cgroups
from bascule.sandbox.spec.box import Bounds

BOUNDS = Bounds(memory=64 << 20, cpus=0.5, pids=9, disk=1)

V1 = """
30 20 0:1 / {root}/memory rw - cgroup cgroup rw,memory
31 20 0:2 / {root}/pids rw - cgroup cgroup rw,pids
32 20 0:3 / {root}/cpu rw - cgroup cgroup rw,cpu,cpuacct
33 20 0:4 / {root}/unified rw - cgroup2 cgroup2 rw
"""
V2 = "30 20 0:1 / {root} rw - cgroup2 cgroup2 rw\n"


def proc(folder: Path, mounts: str, ours: str) -> Path:
    made = folder / "proc"
    made.mkdir()
    (made / "mountinfo").write_text(mounts.format(root=folder).strip() + "\n")
    (made / "cgroup").write_text(ours)
    return made


def test_in_the_older_form_each_controller_has_a_folder_beneath_our_own(tmp_path: Path) -> None:
    for name in ("memory/ours", "pids", "cpu"):
        (tmp_path / name).mkdir(parents=True)
    cgroups = Cgroups(proc(tmp_path, V1, "4:memory:/ours\n3:pids:/\n2:cpu,cpuacct:/\n0::/\n"))
    made = cgroups.made("b", BOUNDS)
    assert made is not None
    folders = [Path(path).parent for path in made.joined_by]
    assert folders == [tmp_path / name / "bascule-b" for name in ("memory/ours", "pids", "cpu")]
    assert (folders[0] / "memory.limit_in_bytes").read_text() == str(64 << 20)
    assert (folders[1] / "pids.max").read_text() == "9"
    assert (folders[2] / "cpu.cfs_quota_us").read_text() == "50000"


def test_in_the_newer_form_there_is_one_at_the_top(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpuset cpu io memory pids\n")
    (tmp_path / "cgroup.subtree_control").write_text("\n")
    cgroups = Cgroups(proc(tmp_path, V2, "0::/user.slice\n"))
    assert cgroups.why_not == ""
    assert set(cgroups._places.values()) == {tmp_path}
    made = cgroups.made("b", BOUNDS)
    assert made is not None
    assert made.joined_by == (str(tmp_path / "bascule-b/cgroup.procs"),)
    assert (tmp_path / "cgroup.subtree_control").read_text() == "+memory +pids +cpu"


@pytest.mark.parametrize("mounts", ["", "30 20 0:1 / {root}/memory rw - cgroup cgroup rw,memory\n"])
def test_where_there_are_none_it_is_said(tmp_path: Path, mounts: str) -> None:
    cgroups = Cgroups(proc(tmp_path, mounts, "4:memory:/\n"))
    assert "has no cgroups" in cgroups.why_not
    assert cgroups.made("b", BOUNDS) is None
    assert "has no cgroups" in Cgroups(tmp_path / "missing").why_not


def test_what_cannot_be_bounded_is_not_made(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    cgroups = Cgroups(proc(tmp_path, V2, "0::/\n"))
    (tmp_path / "bascule-b/pids.max").mkdir(parents=True)
    assert cgroups.made("b", BOUNDS) is None
    assert "could not be made" in cgroups.why_not

    assert cgroups.made("another", BOUNDS) is not None
    assert cgroups.why_not == ""


def test_what_was_left_behind_is_swept_but_not_what_is_new(tmp_path: Path) -> None:
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids\n")
    cgroups = Cgroups(proc(tmp_path, V2, "0::/\n"))
    for name in ("bascule-old", "bascule-new", "other"):
        (tmp_path / name).mkdir()
    for name in ("bascule-old", "other"):
        os.utime(tmp_path / name, (1, 1))
    cgroups.sweep()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["bascule-new", "other", "proc"]


async def test_a_real_one_holds_what_joins_it_and_ends_it() -> None:
    cgroups = Cgroups()
    if cgroups.why_not:
        pytest.skip(f"{cgroups.why_not} (it needs root)")
    made = cgroups.made(f"test-{os.getpid()}", BOUNDS)
    assert made is not None
    join = 'for file in "$@"; do echo 0 >"$file"; done; exec sleep 100'
    with subprocess.Popen(["/bin/sh", "-c", join, "sh", *made.joined_by]) as joining:
        try:
            while made.processes() != {joining.pid}:
                assert joining.poll() is None
            await made.end()
            assert joining.wait(10) == -9
        finally:
            joining.kill()
    assert not any(Path(path).parent.exists() for path in made.joined_by)
