"""The system that a box shows."""

import os
import stat
from pathlib import Path

from bascule.core.sensitivity import Lane
from bascule.sandbox.mounts.host import this_machine
from bascule.sandbox.mounts.system import show_system, written_files
from bascule.sandbox.mounts.visible_paths import View


def shown(lane: Lane) -> View:
    view = View(this_machine(os.environ))
    show_system(view, lane)
    return view


def test_programs_are_there_to_be_read_only() -> None:
    mounts = {mount.target: mount for mount in shown(Lane.SEALED).mounts}
    assert "/usr" in mounts
    assert not any(mount.writable for mount in mounts.values())


def test_a_folder_that_is_a_link_outside_is_one_inside() -> None:
    links = {link.path: link.to for link in shown(Lane.SEALED).links}
    outside = {path: str(Path(path).readlink()) for path in ("/bin", "/lib", "/lib64") if Path(path).is_symlink()}
    assert links.items() >= outside.items()


def test_nothing_that_only_root_can_read_is_shown() -> None:
    for mount in shown(Lane.OPEN).mounts:
        if mount.target.startswith("/etc/"):
            assert Path(mount.source).stat().st_mode & stat.S_IROTH, mount.target
    targets = {mount.target for mount in shown(Lane.OPEN).mounts}
    assert not targets & {"/etc", "/etc/ssl", "/etc/ssl/private", "/etc/shadow", "/etc/passwd"}


def test_only_who_has_a_network_sees_this_machine_s_names() -> None:
    assert "/etc/hosts" in {mount.target for mount in shown(Lane.OPEN).mounts}
    assert "/etc/hosts" not in written_files(Lane.OPEN)
    assert "/etc/hosts" not in {mount.target for mount in shown(Lane.SEALED).mounts}
    assert "localhost" in written_files(Lane.SEALED)["/etc/hosts"]


def test_nobody_is_there_but_the_server() -> None:
    assert written_files(Lane.SEALED)["/etc/passwd"].splitlines() == [
        "box:x:65532:65532:box:/home/box:/usr/sbin/nologin"
    ]
    assert written_files(Lane.SEALED, user=1000)["/etc/passwd"].startswith("box:x:1000:1000:")
