"""Inodes of its own for a bubblewrap sandbox, before it is made and in a real one."""

import fcntl
import os
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.sensitivity import Lane
from bascule.sandbox.bubblewrap.argv import OVERLAY, Site
from bascule.sandbox.bubblewrap.engine import Bubblewrap
from bascule.sandbox.bubblewrap.own_inodes import private_view
from bascule.sandbox.owner import Owner
from bascule.sandbox.spec.box import Bounds, Box, Mount
from support.boxes import boxed, ordered, run_in
from support.bwrap import skip_without_bubblewrap


def a_box(*mounts: Mount) -> Box:
    bounds = Bounds(memory=1, cpus=1, pids=1, disk=1)
    return Box("b-1", "files", Lane.SEALED, ("true",), {}, "/", mounts, bounds)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    at = tmp_path / "b-1"
    at.mkdir()
    (tmp_path / "passwd").write_text("box:x\n")
    return Site(str(at), "/s/place", "/s/filter", files={"/etc/passwd": str(tmp_path / "passwd")})


def test_mounts_come_from_overlays_and_written_files_are_copied(tmp_path: Path, site: Site):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "file").write_text("x")
    mounts = (Mount(str(folder), "/d"), Mount(str(folder / "file"), "/f"), Mount("/w", "/workspace", writable=True))
    view = private_view(a_box(*mounts), site, root=True)
    assert [mount.source for mount in view.box.mounts] == ["/s/place/own/0", "/s/place/own/0/file", "/w"]
    assert view.site.overlays == (str(folder), "/proc")
    assert view.site.settings == "/s/place/own/1/sys"
    copy = Path(view.site.files["/etc/passwd"])
    assert copy.read_text() == "box:x\n"
    assert copy.is_relative_to(site.at)


def test_the_settings_of_the_kernel_are_those_of_its_own_proc_for_all_but_root(site: Site):
    view = private_view(a_box(), site, root=False)
    assert (view.site.settings, view.site.overlays) == ("", ())


def test_an_overlay_that_could_not_be_made_is_reported_by_the_paths_that_it_was_for(tmp_path: Path, site: Site):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    (tmp_path / "a" / "file").write_text("x")
    mounts = (Mount(str(tmp_path / "a" / "file"), "/f"), Mount(str(tmp_path / "b"), "/b"))
    view = private_view(a_box(*mounts), replace(site), root=True)
    before = view.shared().paths
    Path(view.site.report).write_text("0\n")
    assert set(view.shared().paths) - set(before) == {str(tmp_path / "a" / "file")}
    assert "Linux 5.11" in view.shared().why


def run_script(report: Path, mount: str, *folders: str) -> subprocess.CompletedProcess[str]:
    given = (mount, "/bin/mkdir", str(report.parent / "own"), str(report), str(len(folders)), *folders, "--")
    argv = ["/bin/sh", "-c", OVERLAY, "b", *given, "/bin/echo", "ran"]
    return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=20)


def test_a_folder_without_an_overlay_is_mounted_as_it_is_and_its_number_reported(tmp_path: Path):
    mount = tmp_path / "mount"
    # Refuses an overlay of one folder, as a kernel does for one with mounts below it.
    mount.write_text('#!/bin/sh\n[ "$1" = --rbind ] || [ "$(pwd)" != "$BAD" ]\n')
    mount.chmod(0o755)
    good, bad = tmp_path / "good", tmp_path / "bad"
    good.mkdir()
    bad.mkdir()
    os.environ["BAD"] = str(bad)
    try:
        ended = run_script(tmp_path / "shared", str(mount), str(good), str(bad))
    finally:
        del os.environ["BAD"]
    assert (ended.returncode, ended.stdout) == (0, "ran\n")
    assert (tmp_path / "shared").read_text() == "1\n"


def test_a_user_without_rights_gets_overlays_with_locks_of_their_own():
    """The real programs, on a folder whose path has all that an option of `mount` would have to escape."""
    with tempfile.TemporaryDirectory(prefix="bascule-overlay-", dir="/var/tmp") as made:
        folder, place = Path(made, "a:b,c\\d e"), Path(made, "place")
        for each in (Path(made), folder, place):
            each.mkdir(exist_ok=True)
            each.chmod(0o777)
        (folder / "file").write_text("text")
        nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.geteuid() == 0 else ()
        mounting = 'mount -t tmpfs none "$1" && shift && exec "$@"'
        given = ("/bin/mount", "/bin/mkdir", f"{place}/own", f"{made}/shared", "1", str(folder), "--")
        look = 'cat "$1/own/0/file" && flock -n "$1/own/0/file" echo " free"'
        inside = ("sh", "-c", OVERLAY, "b", *given, "/bin/sh", "-c", look, "sh", str(place))
        with (folder / "file").open() as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            argv = [*nobody, "unshare", "-r", "-m", "sh", "-c", mounting, "sh", str(place), *inside]
            ended = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
        assert (ended.stdout, ended.returncode) == ("text free\n", 0), ended.stderr
        assert not Path(made, "shared").exists()


def test_where_nothing_can_be_mounted_nothing_runs(tmp_path: Path):
    assert run_script(tmp_path / "shared", "/bin/false", str(tmp_path)).returncode == 96


async def test_a_sandbox_without_overlays_runs_and_reports_what_it_shares(tmp_path: Path):
    skip_without_bubblewrap()
    owner = Owner(tmp_path / "state")
    shown = tmp_path / "shown"
    shown.mkdir()
    mount = tmp_path / "mount"
    mount.write_text('#!/bin/sh\n[ "$2" = overlay ] && exit 32\nexec /bin/mount "$@"\n')
    mount.chmod(0o755)
    try:
        engine = Bubblewrap(owner, os.environ)
        engine._tools = replace(engine._tools, paths={**engine._tools.paths, "mount": str(mount)})
        assert await engine.why_not() == ""
        assert "/usr" in engine.shared.paths
        shared = await engine.shared_inodes(ordered("ls", str(shown)))
        assert str(shown) in shared.paths
        assert "Linux 5.11" in shared.why
        assert (await run_in(engine, ordered("ls", str(shown)))).code == 0
    finally:
        owner.release()


async def test_a_machine_where_root_may_not_mount_makes_overlays_in_a_user_namespace(tmp_path: Path):
    skip_without_bubblewrap()
    owner = Owner(tmp_path / "state")
    unshare = tmp_path / "unshare"
    unshare.write_text('#!/bin/sh\n[ "$1" = -m ] && exit 1\nexec /usr/bin/unshare "$@"\n')
    unshare.chmod(0o755)
    try:
        engine = Bubblewrap(owner, os.environ)
        engine._tools = replace(engine._tools, paths={**engine._tools.paths, "unshare": str(unshare)}, mounts=True)
        assert await engine.why_not() == ""
        assert not engine._tools.mounts
        assert "/usr" not in engine.shared.paths
        # A new /proc cannot be mounted there. Only root has the one of the host in its sandboxes.
        assert ("/proc/sys" in engine.shared.paths) == (os.geteuid() == 0)
        assert (await engine.run(boxed(ordered("true")), 30)).code == 0
    finally:
        owner.release()
