"""The folder of the audit log."""

import os
from pathlib import Path

import pytest

from bascule.core.errors import StoreError
from bascule.store.audit.folder import AuditFolder, writer_of


def test_it_is_closed_to_others_and_has_one_id_for_good(tmp_path: Path):
    folder = AuditFolder(tmp_path / "state")
    id_ = folder.make()

    assert AuditFolder(tmp_path / "state").make() == folder.id() == id_
    assert len(id_) == 16
    assert folder.path.stat().st_mode & 0o777 == 0o700
    assert (folder.path / "id").stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.path.iterdir()] == ["id"]


def test_one_that_was_open_to_others_is_closed(tmp_path: Path):
    folder = AuditFolder(tmp_path)
    folder.path.mkdir(mode=0o755)
    folder.make()

    assert folder.path.stat().st_mode & 0o777 == 0o700


def test_where_there_is_no_folder_there_is_nothing(tmp_path: Path):
    folder = AuditFolder(tmp_path)

    assert (folder.id(), folder.files()) == (None, {})
    assert not folder.path.exists()


def test_an_id_that_cannot_be_read_is_none_and_is_not_replaced(tmp_path: Path):
    folder = AuditFolder(tmp_path)
    folder.path.mkdir()
    (folder.path / "id").write_bytes(b"\xff\xfe")

    assert folder.id() is None
    with pytest.raises(StoreError, match="id cannot be read"):
        folder.make()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path):
    (tmp_path / "audit").write_text("a file")
    with pytest.raises(StoreError, match="cannot be used") as caught:
        AuditFolder(tmp_path).make()

    assert "BASCULE_HOME" in caught.value.fix


def test_a_folder_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = AuditFolder(tmp_path)
    folder.path.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: 12345)
    with pytest.raises(StoreError, match="belongs to another user"):
        folder.make()


def test_the_files_of_a_slot_are_given_in_the_order_they_were_written(tmp_path: Path):
    folder = AuditFolder(tmp_path)
    folder.make()
    for name in ("0002.log", "0001.log", "0001.000010.log", "0001.000009.log", "0003.000001.log", "x.log", "0001.lock"):
        (folder.path / name).touch()
    found = {slot: [path.name for path in paths] for slot, paths in folder.files().items()}

    assert found == {
        "0001": ["0001.000009.log", "0001.000010.log", "0001.log"],
        "0002": ["0002.log"],
        "0003": ["0003.000001.log"],
    }
    assert folder.segment("0001").name == "0001.000011.log"
    assert folder.segment("0002").name == "0002.000001.log"
    assert (folder.current("0001").name, folder.lock("0001").name) == ("0001.log", "0001.lock")


def test_a_chain_is_named_by_its_folder_and_its_slot():
    assert writer_of("0123456789abcdef", "0001") == "0123456789abcdef-0001"
