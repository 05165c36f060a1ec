"""Plan for inodes of its own: overlays of folders, copies of files, and mounts that stay shared."""

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts import own_inodes
from bascule.sandbox.mounts.own_inodes import DEVICES, Planned, is_private, make_devices, plan, with_copies
from bascule.sandbox.spec.box import PROXY_FOLDER, RAISE_SOCKET, Mount

ROOT = ["/"]


def a_tree(folder: Path) -> tuple[str, str]:
    """A folder, and a file in it."""
    made = folder / "data"
    made.mkdir()
    (made / "file").write_text("text")
    return str(made), str(made / "file")


def ways(*mounts: Mount, points: list[str] = ROOT, parts: bool = True) -> list[tuple[str, str]]:
    return [(each.way, each.folder) for each in plan(mounts, points, parts=parts)]


def test_every_lane_with_less_than_the_network_is_private():
    assert [lane for lane in Lane if is_private(lane)] == [Lane.PROXIED, Lane.SEALED]


def test_a_mount_that_is_written_to_and_a_socket_of_the_sandbox_stay_shared(tmp_path: Path):
    folder, file = a_tree(tmp_path)
    kept = (Mount(folder, "/w", writable=True), Mount(folder, PROXY_FOLDER), Mount(file, RAISE_SOCKET))
    assert ways(*kept) == [("kept", "")] * 3
    assert ways(*kept, parts=False) == [("kept", "")] * 3


def test_a_folder_gets_an_overlay_and_what_lies_in_it_comes_from_there(tmp_path: Path):
    folder, file = a_tree(tmp_path)
    inner = Path(folder, "inner")
    inner.mkdir()
    assert ways(Mount(str(inner), "/i"), Mount(folder, "/d"), Mount(file, "/f")) == [("overlay", folder)] * 3


def test_a_file_comes_from_an_overlay_of_its_folder_and_one_of_the_system_is_copied(tmp_path: Path):
    folder, file = a_tree(tmp_path)
    assert ways(Mount(file, "/f", why="argument")) == [("overlay", folder)]
    assert ways(Mount(file, "/f", why="system")) == [("copy", "")]


def test_a_mount_below_a_folder_gets_an_overlay_of_its_own(tmp_path: Path):
    folder, file = a_tree(tmp_path)
    inner = f"{folder}/inner"
    Path(inner).mkdir()
    mounts = (Mount(folder, "/d"), Mount(inner, "/d/inner"))
    assert ways(*mounts, points=["/", inner]) == [("overlay", folder), ("overlay", inner)]
    # The overlay of the folder has the file below the mount point, which is another one.
    assert ways(Mount(folder, "/d"), Mount(file, "/d/file"), points=["/", file]) == [("overlay", folder), ("copy", "")]


def test_where_an_overlay_is_mounted_as_a_whole_files_are_copied(tmp_path: Path):
    folder, file = a_tree(tmp_path)
    inner = f"{folder}/inner"
    Path(inner).mkdir()
    found = ways(Mount(folder, "/d"), Mount(inner, "/i"), Mount(file, "/f"), parts=False)
    assert found == [("overlay", folder), ("overlay", inner), ("copy", "")]


def test_a_large_file_and_a_socket_are_reported_where_they_would_be_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    _, file = a_tree(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    assert ways(Mount(str(tmp_path / "fifo"), "/f")) == [("shared", "")]
    monkeypatch.setattr(own_inodes, "LARGEST_COPY", 3)
    assert ways(Mount(file, "/f"), parts=False) == [("shared", "")]


def test_a_copy_has_the_bytes_and_the_permissions_of_the_file_and_another_inode(tmp_path: Path):
    _, file = a_tree(tmp_path)
    Path(file).chmod(0o750)
    mount = Mount(file, "/f")
    (tmp_path / "copies").mkdir()
    (done,) = with_copies([Planned(mount, "copy")], tmp_path / "copies")
    copy = Path(done.mount.source)
    assert (done.way, done.mount) == ("copy", replace(mount, source=str(copy)))
    assert copy.read_text() == "text"
    assert stat.S_IMODE(copy.stat().st_mode) == 0o750
    assert not copy.samefile(file)


def test_a_file_that_cannot_be_copied_is_reported(tmp_path: Path):
    mount = Mount(str(tmp_path / "gone"), "/f")
    kept = Planned(Mount("/d", "/d"), "overlay", "/d")
    assert with_copies([kept, Planned(mount, "copy")], tmp_path) == [kept, Planned(mount, "shared")]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes device nodes")
def test_root_makes_devices_with_inodes_of_their_own(tmp_path: Path):
    assert make_devices(tmp_path) == ""
    for name in DEVICES:
        made, host = (tmp_path / name).stat(), Path("/dev", name).stat()
        assert (made.st_rdev, stat.S_IMODE(made.st_mode)) == (host.st_rdev, 0o666)
        assert (made.st_dev, made.st_ino) != (host.st_dev, host.st_ino)


def test_where_no_device_can_be_made_the_reason_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(own_inodes, "DEVICES", ("no-such-device",))
    assert make_devices(tmp_path) == "device nodes cannot be made: No such file or directory"


def test_on_a_file_system_without_devices_none_are_made(tmp_path: Path):
    code = "import sys; from pathlib import Path; from bascule.sandbox.mounts.own_inodes import make_devices as made"
    script = 'mount -t tmpfs -o nodev none "$2" && exec "$1" -c "$3; print(made(Path(sys.argv[1])))" "$2"'
    apart = ("-m",) if os.geteuid() == 0 else ("-r", "-m")
    argv = ["unshare", *apart, "sh", "-c", script, "sh", sys.executable, str(tmp_path), code]
    ended = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    assert "(nodev)" in ended.stdout
