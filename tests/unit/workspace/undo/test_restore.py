"""Putting back what a call has changed. The models in tests/chaos try the rest."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from bascule.workspace.confined_root import ConfinedRoot
from bascule.workspace.quota import Quota
from bascule.workspace.undo.backups import Attic
from bascule.workspace.undo.ledger import Folder, Layers, Original, State
from bascule.workspace.undo.restore import Restoring
from support.workspaces import tree


class Place:
    """A root, an attic and layers, to restore in."""

    def __init__(self, root: ConfinedRoot, attic: Attic) -> None:
        self.root, self.attic = root, attic
        self.layers = Layers(attic.drop)

    def kept(self, content: str) -> Original:
        original = Original()
        original.slot, original.refs = self.attic.write(content.encode(), None), 1
        return original

    def restored(self, **back: State) -> tuple[dict[str, State], list[str]]:
        keyed = {key.replace("_", "/"): found for key, found in back.items()}
        restoring = Restoring(self.root, self.attic, self.layers, Quota(2**30, lambda: 0), keyed)
        return restoring.run(), restoring.failed


@pytest.fixture
def place(root: ConfinedRoot, files: Path) -> Iterator[Place]:
    home = os.open(files.parent, os.O_RDONLY)
    attic = Attic(home)
    yield Place(root, attic)
    attic.close()
    os.close(home)


def test_what_was_not_there_goes_and_what_was_comes_back(place: Place, files: Path):
    (files / "d").mkdir()
    (files / "d" / "new").write_text("")
    assert place.restored(d_new=None, d=None, e=Folder(0o700), e_f=place.kept("f")) == ({}, [])
    assert tree(files) == {"e": None, "e/f": "f"}
    assert (files / "e").stat().st_mode & 0o777 == 0o700


def test_a_file_takes_the_place_of_a_folder_and_a_folder_that_of_a_file(place: Place, files: Path):
    (files / "a").mkdir()
    (files / "b").write_text("")
    assert place.restored(a=place.kept("a"), b=Folder(0o755), b_c=place.kept("c")) == ({}, [])
    assert tree(files) == {"a": "a", "b": None, "b/c": "c"}


def test_a_folder_that_is_not_empty_is_owed(place: Place, files: Path):
    (files / "d").mkdir()
    (files / "d" / "by another").write_text("")
    original = place.kept("d")
    assert place.restored(d=original) == ({"d": original}, [])
    (files / "d" / "by another").unlink()
    assert place.restored(d=original) == ({}, [])
    assert tree(files) == {"d": "d"}


@pytest.mark.parametrize("how", ["file", "link"])
def test_what_lies_below_something_that_is_no_folder_is_owed(place: Place, files: Path, how: str):
    if how == "file":
        (files / "d").write_text("")
    else:
        (files / "d").symlink_to(".")
    original = place.kept("x")
    assert place.restored(d_e_x=original) == ({"d/e/x": original}, [])


def test_a_folder_made_on_the_way_is_owed_to_nobody(place: Place, files: Path):
    owed, failed = place.restored(d_x=place.kept("x"))
    assert (owed, failed) == ({"d": None}, [])
    assert tree(files) == {"d": None, "d/x": "x"}


def test_two_files_that_changed_places_change_back(place: Place, files: Path):
    (files / "a").write_text("was b")
    (files / "b").write_text("was a")
    originals = {"a": Original(), "b": Original()}
    for name, other in (("a", "b"), ("b", "a")):
        originals[name].refs = 1
        place.layers.moved(originals[name], key=other)
    assert place.restored(a=originals["a"], b=originals["b"]) == ({}, [])
    assert tree(files) == {"a": "was a", "b": "was b"}


@pytest.mark.parametrize("link", [True, False])
def test_what_lies_elsewhere_for_good_comes_back_as_a_copy(place: Place, files: Path, link: bool):
    if link:
        (files / "there").symlink_to("nowhere")
    else:
        (files / "there").write_text("content")
    original = Original()
    original.refs = 1
    place.layers.moved(original, key="there")
    assert place.restored(here=original) == ({}, [])
    assert tree(files)["here"] == tree(files)["there"]
    assert place.layers.living("there") is None


def test_one_that_lies_where_it_belongs_is_left_there(place: Place, files: Path):
    (files / "a").write_text("a")
    original = Original()
    original.refs = 1
    place.layers.moved(original, key="a")
    assert place.restored(a=original) == ({}, [])
    assert tree(files) == {"a": "a"}


def test_one_of_which_others_speak_is_remembered_where_it_comes_to_lie(place: Place, files: Path):
    original = place.kept("a")
    original.refs = 2
    assert place.restored(a=original) == ({}, [])
    assert place.layers.living("a") is original
    other = place.kept("older")
    assert place.restored(a=other) == ({}, [])
    assert tree(files) == {"a": "older"}
    assert original.slot
    assert place.attic.status(original.slot).st_size == 1


def test_what_fails_is_told_and_the_others_come_back(place: Place, files: Path):
    lost = place.kept("lost")
    place.attic.drop(lost.slot)
    assert place.restored(a=lost, b=place.kept("b")) == ({}, ["a"])
    assert tree(files) == {"b": "b"}
