import asyncio
import os
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.prepare.cache import Shelf
from bascule.sandbox.prepare.layer import FORMAT, RECORD, TREE, Record, written
from bascule.sandbox.prepare.layer_files import content_digest, look_digest, seal
from support.packages import install, mode

KEY = "abc1"


def put(folder: Path, key: str = KEY, made: float = 1.0) -> Record:
    tree = folder / key / TREE
    install(tree)
    seal(tree)
    record = Record(FORMAT, f"s-{key}", "npx", True, "b", "/n", (), content_digest(tree), look_digest(tree), 9, made)
    (folder / key / RECORD).write_bytes(written(record))
    return record


def test_what_is_there_is_found_and_what_is_not_is_not(tmp_path: Path):
    record = put(tmp_path)

    assert Shelf(tmp_path).find(KEY) == record
    assert Shelf(tmp_path).find("abc2") is None


def test_a_layer_that_looks_otherwise_but_is_the_same_is_looked_at_once(tmp_path: Path):
    record = put(tmp_path)
    os.utime(tmp_path / KEY / TREE / "package.json")

    found = Shelf(tmp_path).find(KEY)

    assert found is not None
    assert found.digest == record.digest
    assert found.look != record.look
    assert Shelf(tmp_path).find(KEY) == found
    assert sorted(path.name for path in (tmp_path / KEY).iterdir()) == [RECORD, TREE]


def test_layers_are_listed_and_one_that_cannot_be_read_too(tmp_path: Path):
    put(tmp_path, "abc1", 1.0)
    put(tmp_path, "abc2", 2.0)
    (tmp_path / "abc3").mkdir()
    (tmp_path / "abc4.partial-x").mkdir()
    (tmp_path / "abc5.lock").touch()

    assert [(kept.key, kept.described) for kept in Shelf(tmp_path).layers()] == [
        ("abc2", "s-abc2"),
        ("abc1", "s-abc1"),
        ("abc3", "not readable"),
    ]
    assert Shelf(tmp_path / "none").layers() == ()


async def test_a_layer_is_removed_whole(tmp_path: Path):
    put(tmp_path)

    assert await Shelf(tmp_path).remove(KEY, 5)
    assert not await Shelf(tmp_path).remove(KEY, 5)
    assert [path.name for path in tmp_path.iterdir()] == [f"{KEY}.lock"]


@pytest.mark.parametrize("key", ["../abc1", "", ".", "abc1/tree", "abc1.lock"])
async def test_no_name_leads_out_of_the_shelf(tmp_path: Path, key: str):
    put(tmp_path)

    assert not await Shelf(tmp_path / "shelf").remove(key, 5)
    assert not await Shelf(tmp_path).remove(key, 5)
    assert (tmp_path / KEY / TREE).is_dir()


async def test_what_killed_processes_left_is_swept_and_what_others_make_is_not(tmp_path: Path):
    shelf = Shelf(tmp_path)
    for key in (KEY, "abc2", "abc3"):
        install(shelf.partial(key) / TREE)

    async with shelf.held(KEY, 5), shelf.held("abc2", 5):
        shelf.sweep(KEY)

    assert [path.name.split(".")[0] for path in tmp_path.iterdir() if path.is_dir()] == ["abc2"]


async def test_one_at_a_time_holds_a_key(tmp_path: Path):
    shelf = Shelf(tmp_path / "new")
    async with shelf.held(KEY, 5), shelf.held("abc2", 5):
        with pytest.raises(SandboxError, match="another process"):
            async with shelf.held(KEY, 0.1):
                pytest.fail("two hold the same key")
    async with asyncio.timeout(5), shelf.held(KEY, 5):
        assert mode(tmp_path / "new") == 0o700


async def test_a_time_out_of_who_holds_a_key_is_its_own(tmp_path: Path):
    with pytest.raises(TimeoutError, match="mine"):
        async with Shelf(tmp_path).held(KEY, 5):
            raise TimeoutError("mine")


async def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path):
    (tmp_path / "file").touch()

    with pytest.raises(SandboxError, match="cannot be kept"):
        async with Shelf(tmp_path / "file").held(KEY, 5):
            pytest.fail("held in a file")
