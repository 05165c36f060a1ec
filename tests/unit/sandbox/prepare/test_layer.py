""" """

from dataclasses import replace
from pathlib import Path

import pytest

from bascule.core.errors import SandboxError
from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.layer import FORMAT, RECORD, TREE, Record, key_of, looked_over, read_record, written
from bascule.sandbox.prepare.layer_files import content_digest, look_digest
from bascule.sandbox.prepare.package import Package
from support.packages import install


def made(folder: Path) -> Record:
    install(folder / TREE)
    tree = folder / TREE
    record = Record(FORMAT, "server", "npx", True, "bin/x", "/n", (), content_digest(tree), look_digest(tree), 1, 2.0)
    (folder / RECORD).write_bytes(written(record))
    return record


def test_what_is_written_down_is_read_again(tmp_path: Path):
    assert read_record(tmp_path / "none") is None

    record = made(tmp_path / "key")
    assert read_record(tmp_path / "key") == record


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff", b"[1"])
def test_a_record_that_cannot_be_read_is_no_layer_to_start_from(tmp_path: Path, text: bytes):
    made(tmp_path / "key")
    (tmp_path / "key" / RECORD).write_bytes(text)

    with pytest.raises(SandboxError, match="not as it was fetched") as caught:
        read_record(tmp_path / "key")
    assert "bascule sandbox rm key" in caught.value.fix


def test_a_folder_without_a_record_is_no_layer_to_start_from(tmp_path: Path):
    (tmp_path / "key").mkdir()

    with pytest.raises(SandboxError, match="not as it was fetched"):
        read_record(tmp_path / "key")


def test_a_layer_that_was_copied_is_as_it_was(tmp_path: Path):
    record = made(tmp_path / "key")
    file = tmp_path / "key" / TREE / "package.json"
    file.touch()

    look = looked_over(tmp_path / "key", record)

    assert look == look_digest(tmp_path / "key" / TREE)
    assert look != record.look


def test_a_layer_that_was_changed_is_refused(tmp_path: Path):
    record = made(tmp_path / "key")
    (tmp_path / "key" / TREE / "node_modules/server/index.js").write_text("evil")

    with pytest.raises(SandboxError, match="not as it was fetched"):
        looked_over(tmp_path / "key", record)


def test_a_layer_whose_files_are_gone_is_refused(tmp_path: Path):
    record = made(tmp_path / "key")
    (tmp_path / "key" / TREE).rename(tmp_path / "elsewhere")

    with pytest.raises(SandboxError, match="not as it was fetched"):
        looked_over(tmp_path / "key", record)


PACKAGE = Package("npm", ("server",), None, ("/data",))
FETCHER = Fetcher("npm", ("/node", "/npm"), "/node", ("/node",), (), "node 1")


def test_the_same_package_has_the_same_key_whatever_its_program_is_given():
    assert key_of(PACKAGE, FETCHER) == key_of(replace(PACKAGE, arguments=("/other",)), FETCHER)
    assert key_of(PACKAGE, FETCHER).isalnum()


@pytest.mark.parametrize(
    "other",
    [
        replace(PACKAGE, specs=("server@1.0.0",)),
        replace(PACKAGE, specs=("server", "more")),
        replace(PACKAGE, binary="server"),
        replace(PACKAGE, options=("--registry=https://r.test",)),
        replace(PACKAGE, kind="python"),
    ],
)
def test_whatever_decides_what_is_fetched_is_in_the_key(other: Package):
    assert key_of(other, FETCHER) != key_of(PACKAGE, FETCHER)


def test_another_interpreter_has_another_layer():
    assert key_of(PACKAGE, replace(FETCHER, identity="node 2")) != key_of(PACKAGE, FETCHER)


def test_a_package_that_was_packed_again_is_another_one(tmp_path: Path):
    packed = tmp_path / "s.tgz"
    package = replace(PACKAGE, specs=(str(packed),))
    missing = key_of(package, FETCHER)
    packed.write_text("one")
    first = key_of(package, FETCHER)
    packed.write_text("another")

    assert len({missing, first, key_of(package, FETCHER)}) == 3
