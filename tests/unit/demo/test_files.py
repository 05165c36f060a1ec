"""The built-in server that reads files."""

from pathlib import Path

import pytest

from bascule.demo.files import MOST, Folder, tools
from bascule.kit.stdio_server import Labelled, ToolError


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "deep.txt").write_text("deep")
    (tmp_path / "b.txt").write_text("plain")
    (tmp_path / "a.csv").write_text("Classification: Secret\nx,y\n")
    return Folder(tmp_path)


def test_the_files_of_its_folder_are_named_and_none_below(folder: Folder):
    assert folder.names() == {"files": ["a.csv", "b.txt"]}


def test_a_file_that_says_how_private_it_is_is_labelled_so(folder: Folder):
    read = folder.read("a.csv")

    assert isinstance(read, Labelled)
    assert (read.label, read.structured["text"]) == ("secret", "Classification: Secret\nx,y\n")


def test_a_file_that_says_nothing_is_not_labelled(folder: Folder):
    assert folder.read("b.txt") == {"name": "b.txt", "text": "plain"}


@pytest.mark.parametrize("name", ["c.txt", "below", "below/deep.txt", "../x", "/etc/passwd", ""])
def test_what_does_not_lie_there_is_not_read(folder: Folder, name: str):
    with pytest.raises(ToolError, match="there is no file"):
        folder.read(name)


def test_of_a_long_file_the_beginning_is_read(folder: Folder, tmp_path: Path):
    (tmp_path / "long.txt").write_text("x" * (MOST + 1))

    read = folder.read("long.txt")

    assert isinstance(read, dict)
    assert len(read["text"]) == MOST


def test_its_tools_only_read(folder: Folder):
    assert [(tool.name, tool.permissions) for tool in tools(folder)] == [("list", ("read",)), ("read", ("read",))]
