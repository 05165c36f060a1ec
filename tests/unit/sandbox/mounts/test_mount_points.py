"""Mount points of the host, and the mounts below a folder."""

from pathlib import Path

import pytest

from bascule.sandbox.mounts import mount_points
from bascule.sandbox.mounts.mount_points import mount_point, mounted_here, with_mounts_below
from bascule.sandbox.spec.box import Mount

USR = Mount("/usr", "/usr", why="system")


def test_what_is_mounted_below_a_folder_is_shown_there_and_cannot_be_written_either():
    found = list(with_mounts_below((USR,), ["/", "/usr", "/usr/local", "/usr/local/deep", "/usrx"]))

    assert found == [
        USR,
        Mount("/usr/local", "/usr/local", why="system"),
        Mount("/usr/local/deep", "/usr/local/deep", why="system"),
    ]


def test_it_is_shown_where_the_box_shows_the_folder():
    assert list(with_mounts_below((Mount("/a", "/b"),), ["/a/c"]))[1] == Mount("/a/c", "/b/c")


def test_what_may_be_written_comes_whole():
    workspace = Mount("/w", "/workspace", writable=True)
    assert list(with_mounts_below((workspace,), ["/w/below"])) == [workspace]


@pytest.mark.parametrize(
    ("line", "place"),
    [
        ("36 35 98:0 / /usr/local rw,noatime master:1 - ext4 /dev/root rw", "/usr/local"),
        ("36 35 98:0 / /with\\040space rw - ext4 /dev/root rw", "/with space"),
        ("36 35 98:0 / /with\\040ümlaut rw - ext4 /dev/root rw", "/with ümlaut"),
        ("36 35 0:5 / /proc rw - proc proc rw", None),
        ("nonsense", None),
    ],
)
def test_one_line_of_what_the_kernel_tells(line: str, place: str | None):
    assert mount_point(line) == place


def test_this_machine_has_something_mounted():
    assert "/" in mounted_here()


def test_where_nothing_is_told_nothing_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(mount_points, "MOUNTINFO", tmp_path / "none")
    assert mounted_here() == []
