"""`bascule new`: files of the new server, and output."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bascule.cli.commands.new import PLACES, run, starter_files, told, write_files
from bascule.cli.parser.command_table import build_parser
from bascule.cli.parser.grammar import WrongWords
from bascule.config.loading.load import load_file
from bascule.core.errors import ConfigError, UsageError

FILES = ["README.md", "bascule.yaml", "client.py", "server.py", "test_server.py", "tools.py"]


async def test_it_goes_into_a_folder_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.chdir(tmp_path)

    assert await run(build_parser().parse_args(["new", "server", "desk"])) == 0

    assert sorted(path.name for path in (tmp_path / "desk").iterdir()) == FILES
    assert "  bascule run desk-http" in capsys.readouterr().out


async def test_it_goes_into_the_folder_that_is_named_and_tells_programs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    folder = str(tmp_path / "a" / "b")

    assert await run(build_parser().parse_args(["new", "server", "desk", "--folder", folder, "--json"])) == 0

    assert json.loads(capsys.readouterr().out) == {"name": "desk", "folder": folder, "files": FILES}


def test_there_is_nothing_else_to_write():
    with pytest.raises(WrongWords) as ended:
        build_parser().parse_args(["new", "agent", "desk"])

    assert ended.value.code == 2
    assert ended.value.message == "server cannot be 'agent'; it is one of server"


def test_what_to_do_next_begins_with_where_it_is():
    assert told("desk", Path("x/y"), ["a.py"]).splitlines()[:3] == [
        "x/y holds the server desk now: a.py",
        "next:",
        "  cd x/y",
    ]


@pytest.mark.parametrize("name", ["a", "my-desk", "x_1", "x" * 27])
def test_the_name_stands_where_ours_stood_and_the_files_are_in_order(tmp_path: Path, name: str):
    files = starter_files(name)
    write_files(tmp_path, files)
    config = load_file(tmp_path / "bascule.yaml", {})

    assert sorted(files) == FILES
    assert "records" not in "".join(files.values())
    for file in tmp_path.glob("*.py"):
        ast.parse(file.read_text())
    assert ([*config.servers], [*config.kit_servers]) == ([name], [f"{name}-http"])
    assert config.servers[name].isolated is not None
    assert f'create_mcp_server("{name}"' in files["server.py"]
    assert f'"{name}_salaries"' in files["client.py"]


def test_every_tool_has_a_permission_in_the_config_that_is_its_own():
    files = starter_files("records")
    tools = ast.parse(files["tools.py"])
    said = {
        node.name: ast.unparse(node.decorator_list[-1]).rpartition(".")[2].rstrip(")").lower()
        for node in tools.body
        if isinstance(node, ast.FunctionDef)
    }

    assert yaml.safe_load(files["bascule.yaml"])["mcp_servers"]["records"]["permissions"] == said


@pytest.mark.parametrize("name", ["", "Records", "1a", "a/b", "..", "a b", "x" * 28, "a\n"])
def test_a_name_that_is_none_is_refused(name: str):
    with pytest.raises(UsageError, match="cannot be the name of a server"):
        starter_files(name)


def test_where_there_are_no_files_it_says_so(tmp_path: Path):
    with pytest.raises(ConfigError, match="not where they belong"):
        starter_files("records", [tmp_path, tmp_path / "nowhere"])


def test_the_first_place_that_has_them_counts(tmp_path: Path):
    (tmp_path / "a.py").write_text("records")
    (tmp_path / "a.pyc").write_bytes(b"\xff")

    assert starter_files("desk", [tmp_path / "nowhere", tmp_path, *PLACES]) == {"a.py": "desk"}


@pytest.mark.parametrize("kind", ["file", "folder", "dangling link"])
def test_what_is_there_is_not_written_over(tmp_path: Path, kind: str):
    there = tmp_path / "b.py"
    match kind:
        case "file":
            there.write_text("mine")
        case "folder":
            there.mkdir()
        case _:
            there.symlink_to(tmp_path / "elsewhere")

    with pytest.raises(UsageError, match=r"would be written over: b\.py"):
        write_files(tmp_path, {"a.py": "a", "b.py": "b"})
    assert [path.name for path in tmp_path.iterdir()] == ["b.py"]


def test_what_cannot_be_written_whole_is_not_there_in_part(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot be written into"):
        write_files(tmp_path, {"a.py": "a", "no/b.py": "b"})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_a_file_is_told(tmp_path: Path):
    (tmp_path / "file").write_text("")

    with pytest.raises(UsageError, match="cannot be written into"):
        write_files(tmp_path / "file", {"a.py": "a"})


class MadeMeanwhile(dict[str, str]):
    """Files, one of which somebody else makes when all have been looked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__({"a.py": "a", "b.py": "b"})
        self._folder = folder

    def items(self) -> Any:
        (self._folder / "b.py").write_text("theirs")
        return super().items()


def test_what_somebody_makes_in_the_last_moment_is_theirs(tmp_path: Path):
    with pytest.raises(UsageError, match="cannot be written into"):
        write_files(tmp_path, MadeMeanwhile(tmp_path))
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"b.py": "theirs"}


def test_a_new_server_has_a_name_and_perhaps_a_folder():
    options = build_parser().parse_args(["new", "server", "desk"])
    assert (options.what, options.name, options.folder) == ("server", "desk", None)
