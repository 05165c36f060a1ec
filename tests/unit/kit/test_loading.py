"""The server in an author's file."""

from pathlib import Path

import pytest

from bascule.core.errors import ConfigError
from bascule.kit.loading import load_server

MADE = "from bascule.kit import create_mcp_server\nmcp = create_mcp_server('notes')\n"


def written(folder: Path, text: str) -> Path:
    file = folder / "target.py"
    file.write_text(text)
    return file


def test_the_server_of_a_file_is_found_by_whatever_name_it_has(tmp_path: Path):
    assert load_server(written(tmp_path, MADE + "same = mcp\n")).name == "notes"


def test_what_lies_beside_the_file_can_be_imported(tmp_path: Path):
    (tmp_path / "beside_the_target.py").write_text("NAME = 'from beside'\n")
    text = (
        "from beside_the_target import NAME\nfrom bascule.kit import create_mcp_server\nmcp = create_mcp_server(NAME)"
    )

    assert load_server(written(tmp_path, text)).name == "from beside"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = 1", "makes no server"),
        ("from fastmcp import FastMCP\nmcp = FastMCP('x')", "nobody would be known there"),
        (MADE + "other = create_mcp_server('second')", "several servers: 'notes', 'second'"),
        ("import nothing_like_this", "ModuleNotFoundError"),
        ("raise SystemError('no')", "SystemError: no"),
        ("def (", "SyntaxError"),
    ],
)
def test_a_file_without_a_server_of_ours_says_why(tmp_path: Path, text: str, told: str):
    with pytest.raises(ConfigError, match=told) as caught:
        load_server(written(tmp_path, text))
    assert caught.value.fix


def test_a_file_that_is_not_there_says_so(tmp_path: Path):
    for name in ("missing.py", "folder", "text.txt"):
        with pytest.raises(ConfigError, match="no Python file"):
            load_server(tmp_path / name)
