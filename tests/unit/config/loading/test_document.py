"""Files: found, readable, of a size, and in UTF-8."""

from pathlib import Path

import pytest

from bascule.config.loading.document import MAX_FILE, read_document
from bascule.core.errors import ConfigError


def refused(path: Path) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        read_document(path)
    return caught.value


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.yaml", "x: [y]"),
        ("a.YML", "x: [y]"),
        ("a.json", '{"x": ["y"],}'),
        ("mcp.jsonc", '// c\n{"x": ["y"]}'),
        ("noending", '  {"x": ["y"]}'),
        ("noending", "x: [y]"),
        ("noending", '// c\n{"x": ["y"]}'),
    ],
)
def test_the_format_is_told_by_ending_or_content(tmp_path: Path, name: str, text: str):
    (tmp_path / name).write_text(text)

    assert read_document(tmp_path / name).root == {"x": ["y"]}


@pytest.mark.parametrize("name", ["a.yaml", "a.json"])
def test_a_byte_order_mark_is_tolerated(tmp_path: Path, name: str):
    (tmp_path / name).write_bytes(b'\xef\xbb\xbf{"a": 1}')

    assert read_document(tmp_path / name).root == {"a": 1}


def test_a_missing_file_is_told_with_a_way_out(tmp_path: Path):
    error = refused(tmp_path / "bascule.yaml")

    assert "does not exist" in str(error)
    assert "--config" in error.fix


def test_a_folder_is_no_file(tmp_path: Path):
    assert refused(tmp_path).fix == "name a file, not a folder"


def test_what_cannot_be_opened_is_told(tmp_path: Path):
    (tmp_path / "file").touch()

    error = refused(tmp_path / "file" / "bascule.yaml")
    assert "cannot be read" in str(error)
    assert "ls -l" in error.fix


@pytest.mark.parametrize("data", [b"a: 1\nb: \xff", "a: 1\n".encode("utf-16")])
def test_a_file_that_is_not_utf8_is_told(tmp_path: Path, data: bytes):
    path = tmp_path / "a.yaml"
    path.write_bytes(data)

    error = refused(path)
    assert "not UTF-8" in str(error)
    assert "UTF-8" in error.fix


def test_the_line_that_is_not_utf8_is_named(tmp_path: Path):
    path = tmp_path / "a.yaml"
    path.write_bytes(b"a: 1\nb: \xff")

    assert refused(path).where.endswith("a.yaml:2")


def test_a_huge_file_is_not_read(tmp_path: Path):
    path = tmp_path / "a.json"
    path.write_bytes(b" " * (MAX_FILE + 1))

    assert "larger than" in str(refused(path))
