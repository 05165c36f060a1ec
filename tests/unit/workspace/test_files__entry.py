"""One file or folder, as an agent sees it."""

import os
from pathlib import Path

from bascule.workspace.files import entry_of


def test_each_kind_is_told(tmp_path: Path):
    (tmp_path / "f").write_text("four")
    (tmp_path / "d").mkdir()
    (tmp_path / "l").symlink_to("f")
    os.mkfifo(tmp_path / "p")
    (tmp_path / "h").write_text("two names")
    os.link(tmp_path / "h", tmp_path / "h2")
    found = {path.name: entry_of(path.name, path.lstat()) for path in tmp_path.iterdir()}
    kinds = {name: (entry.kind, entry.size) for name, entry in found.items()}
    assert kinds == {
        "f": ("file", 4),
        "d": ("folder", 0),
        "l": ("link", 0),
        "p": ("other", 0),
        "h": ("other", 0),
        "h2": ("other", 0),
    }
    assert found["f"].modified == (tmp_path / "f").stat().st_mtime


def test_a_name_that_no_agent_can_write_is_shown_with_escapes(tmp_path: Path):
    status = tmp_path.stat()
    assert entry_of("a\nb", status).name == "a\\nb"
    assert entry_of("\udcff", status).name == "\\udcff"
    assert entry_of("\udcff", status).kind == "other"
