"""A folder out of which no path leads."""

import errno
import os
from pathlib import Path

import pytest

from bascule.core.errors import PathRefused
from bascule.workspace import confined_root
from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.openat import Engine, KernelEngine
from support.workspaces import SECRET, open_descriptors


def content(root: ConfinedRoot, key: str) -> str:
    fd, status = root.open_file(key, os.O_RDONLY)
    try:
        return os.read(fd, status.st_size).decode()
    finally:
        os.close(fd)


@pytest.fixture(autouse=True)
def no_descriptor_is_left(root: ConfinedRoot, tmp_path: Path):
    before = open_descriptors(tmp_path)
    yield
    assert open_descriptors(tmp_path) == before


def test_a_file_is_opened_and_blocks_as_files_do(root: ConfinedRoot, files: Path):
    (files / "f").write_text("inside")
    fd, _ = root.open_file("f", os.O_RDONLY)
    assert os.get_blocking(fd)
    os.close(fd)


@pytest.mark.parametrize(
    ("link", "target"),
    [("l", "d/f"), ("l", "./d/../d/f"), ("d/l", "f"), ("d/l", "../d/f"), ("l", "/workspace/d/f"), ("l", "to/f")],
)
def test_a_link_that_stays_inside_is_followed(root: ConfinedRoot, files: Path, link: str, target: str):
    (files / "d").mkdir()
    (files / "d" / "f").write_text("inside")
    (files / "to").symlink_to("/workspace/d")
    (files / link).symlink_to(target)
    assert content(root, link) == "inside"
    assert root.real(link) == "d/f"
    assert root.locate(link, follow=True)[0] == "d/f"
    assert root.locate(f"to/{link[2:]}" if link.startswith("d/") else link, follow=False)[0] == link


@pytest.mark.parametrize(
    "target", ["../../outside/secret.txt", "{outside}/secret.txt", "/workspace/../../outside/secret.txt", "/", ".."]
)
def test_a_link_that_leads_out_is_refused(root: ConfinedRoot, files: Path, outside: Path, target: str):
    (files / "l").symlink_to(target.format(outside=outside))
    for key in ("l", "l/outside/secret.txt"):
        with pytest.raises(PathRefused, match="leads out"):
            content(root, key)
        with pytest.raises(PathRefused, match="leads out"):
            root.locate(key, follow=True)


def test_links_that_go_round_end(root: ConfinedRoot, files: Path):
    (files / "a").symlink_to("b")
    (files / "b").symlink_to("a")
    with pytest.raises(OSError) as caught:
        content(root, "a")
    assert caught.value.errno == errno.ELOOP


def test_a_second_name_of_a_file_makes_both_refused(root: ConfinedRoot, files: Path, outside: Path):
    os.link(outside / "secret.txt", files / "h")
    with pytest.raises(PathRefused, match="several hard links"):
        content(root, "h")


def test_a_link_that_is_taken_away_while_its_file_is_opened_does_not_make_it_ours(
    root: ConfinedRoot, files: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
):
    """As whoever is quick enough can do it: linked when it is opened, and a single file when its links are counted."""
    real, asked = os.fstat, list[int]()

    def quick(fd: int) -> os.stat_result:
        (files / "h").unlink(missing_ok=True)
        status = real(fd)
        if len(asked) < 3:
            os.link(outside / "secret.txt", files / "h")
        asked.append(fd)
        return status

    os.link(outside / "secret.txt", files / "h")
    monkeypatch.setattr(confined_root.os, "fstat", quick)
    with pytest.raises((FileNotFoundError, PathRefused)):
        content(root, "h")
    assert asked


@pytest.mark.parametrize("proc", [True, False])
@pytest.mark.parametrize("name", ["f", "f (deleted)"])
def test_a_file_that_was_just_made_is_opened(
    root: ConfinedRoot, files: Path, monkeypatch: pytest.MonkeyPatch, proc: bool, name: str
):
    if not proc:
        monkeypatch.setattr(confined_root, "_where", lambda _: None)
    (files / name).write_text("inside")
    assert content(root, name) == "inside"


def test_without_proc_another_file_of_the_same_name_is_noticed(
    root: ConfinedRoot, files: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(confined_root, "_where", lambda _: None)
    (files / "f").write_text("old")
    real, renewed = confined_root._wait_for_changes, list[str]()

    def renewing(folder: int, name: str) -> None:
        real(folder, name)
        if not renewed:
            renewed.append(name)
            (files / "new").write_text("new")
            (files / "new").rename(files / "f")

    monkeypatch.setattr(confined_root, "_wait_for_changes", renewing)
    assert content(root, "f") == "new"


def test_a_file_on_a_disk_that_cannot_be_written_is_read(
    root: ConfinedRoot, files: Path, monkeypatch: pytest.MonkeyPatch
):
    def read_only(*_: object, **__: object) -> None:
        raise OSError(errno.EROFS, "read-only")

    (files / "f").write_text("inside")
    monkeypatch.setattr(confined_root.os, "rename", read_only)
    assert content(root, "f") == "inside"


def test_what_is_always_replaced_is_an_error_in_the_end(
    root: ConfinedRoot, files: Path, monkeypatch: pytest.MonkeyPatch
):
    (files / "f").write_text("inside")
    monkeypatch.setattr(confined_root, "_where", lambda fd: f"elsewhere {fd}")
    with pytest.raises(OSError) as caught:
        content(root, "f")
    assert caught.value.errno == errno.EAGAIN


def test_a_folder_is_no_file(root: ConfinedRoot, files: Path):
    (files / "d").mkdir()
    with pytest.raises(IsADirectoryError):
        content(root, "d")


def test_what_is_there_is_seen_itself_and_not_what_it_links_to(root: ConfinedRoot, files: Path):
    (files / "l").symlink_to("nowhere")
    status = root.status("l")
    assert status is not None
    assert root.status("a/b") is None
    assert root.status("") is not None
    assert root.link("l") == "nowhere"
    assert root.link("a") is None
    assert root.locate("l", follow=True) == ("nowhere", None)


def test_everything_below_is_walked_and_no_link_entered(root: ConfinedRoot, files: Path, outside: Path):
    (files / "d" / "e").mkdir(parents=True)
    (files / "d" / "e" / "f").write_text("x")
    (files / "l").symlink_to(outside)
    assert sorted(key for key, _ in root.walk()) == ["d", "d/e", "d/e/f", "l"]
    assert [key for key, _ in root.walk("d")] == ["d/e", "d/e/f"]


def test_entries_are_moved_made_and_removed(root: ConfinedRoot, files: Path, root_fd: int):
    root.make_folder("d")
    os.close(root.create_file("d/f", os.O_WRONLY))
    root.rename("d/f", "g")
    root.take_out("g", root_fd, "slot")
    root.put_in(root_fd, "slot", "d/h")
    (files / "i").write_text("i")
    assert root.swap(root_fd, "i", "d/h")
    assert (files / "d" / "h").read_text() == "i"
    root.unlink("d/h")
    root.remove_folder("d")
    assert sorted(path.name for path in files.iterdir()) == ["i"]


def test_a_folder_stays_the_one_it_is_whatever_becomes_of_its_name(files: Path, outside: Path):
    (files / "secret.txt").write_text("inside")
    root = ConfinedRoot(os.open(files, os.O_RDONLY | os.O_DIRECTORY))
    files.rename(files.with_name("moved"))
    files.symlink_to(outside)
    assert content(root, "secret.txt") == "inside" != SECRET
    root.close()


def test_what_is_closed_leads_nowhere_even_for_who_is_about_to_use_it(files: Path, outside: Path, engine: Engine):
    (files / "secret.txt").write_text("inside")
    fd = os.open(files, os.O_RDONLY | os.O_DIRECTORY)
    root = ConfinedRoot(fd, engine)
    root.close()
    root.close()
    others = [os.open(outside, os.O_RDONLY | os.O_DIRECTORY) for _ in range(5)]
    assert fd not in others
    for key in ("secret.txt", "sub/f"):
        with pytest.raises(NotADirectoryError):
            content(root, key)
    for other in others:
        os.close(other)


def test_the_best_engine_is_chosen_where_none_is_given(files: Path):
    root = ConfinedRoot(os.open(files, os.O_RDONLY | os.O_DIRECTORY))
    assert isinstance(root._engine, KernelEngine)
    root.close()
