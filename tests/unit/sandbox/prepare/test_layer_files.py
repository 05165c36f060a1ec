import os
from collections.abc import Callable
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.prepare.layer_files import content_digest, entries, look_digest, remove, seal, size_of
from support.packages import install, mode


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    tree = tmp_path / "tree"
    install(tree)
    return tree


def test_everything_is_found_in_an_order_of_names(tree: Path):
    names = [entry.name for entry in entries(tree)]

    assert names[0] == "."
    assert set(names) >= {"package.json", "node_modules/.bin/server", "node_modules/server/index.js"}
    assert names == [entry.name for entry in entries(tree)]


def test_what_is_sealed_can_be_read_by_all_and_written_by_nobody(tree: Path):
    (tree / "closed").mkdir(mode=0o700)
    (tree / "closed/tool").write_text("x")
    (tree / "closed/tool").chmod(0o6711)
    (tree / "closed").chmod(0)

    seal(tree)

    assert mode(tree) == mode(tree / "closed") == 0o555
    assert mode(tree / "closed/tool") == mode(tree / "node_modules/server/index.js") == 0o555
    assert mode(tree / "package.json") == 0o444


def test_sealing_changes_nothing_that_a_link_leads_to(tree: Path, tmp_path: Path):
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o750)
    (outside / "file").write_text("x")
    (outside / "file").chmod(0o640)
    (tree / "folder").symlink_to(outside)
    (tree / "file").symlink_to(outside / "file")

    seal(tree)
    remove(tree)

    assert mode(outside) == 0o750
    assert mode(outside / "file") == 0o640
    assert not tree.exists()


def test_what_is_neither_file_nor_folder_is_not_kept(tree: Path):
    os.mkfifo(tree / "pipe")

    with pytest.raises(SandboxError, match="neither a file nor a folder: pipe"):
        seal(tree)


def changed_text(tree: Path) -> None:
    path = tree / "node_modules/server/index.js"
    before = path.stat()
    path.chmod(0o755)
    path.write_text(path.read_text().replace("env", "vne"))
    path.chmod(0o555)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def changed_mode(tree: Path) -> None:
    (tree / "package.json").chmod(0o644)


def added(tree: Path) -> None:
    (tree / "node_modules").chmod(0o755)
    (tree / "node_modules/more").write_text("")
    (tree / "node_modules").chmod(0o555)


def turned_link(tree: Path) -> None:
    folder = tree / "node_modules/.bin"
    folder.chmod(0o755)
    (folder / "server").unlink()
    (folder / "server").symlink_to("../server/package.json")
    folder.chmod(0o555)


@pytest.mark.parametrize("change", [changed_text, changed_mode, added, turned_link])
def test_every_change_is_seen_by_a_look_and_by_reading(tree: Path, change: Callable[[Path], None]):
    seal(tree)
    look, content = look_digest(tree), content_digest(tree)
    assert (look, content) == (look_digest(tree), content_digest(tree))

    change(tree)

    assert look_digest(tree) != look
    assert content_digest(tree) != content


def test_sizes_are_summed_up_and_what_vanishes_meanwhile_is_no_failure(tree: Path):
    (tree / "large").write_bytes(b"x" * 100_000)

    assert 100_000 < size_of(tree) < 200_000
    assert size_of(tree / "not-there") == 0


def test_what_is_not_there_can_be_removed(tmp_path: Path):
    remove(tmp_path / "not-there")
    (tmp_path / "file").write_text("")
    remove(tmp_path / "file")

    assert not (tmp_path / "file").exists()
