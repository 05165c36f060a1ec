"""What `bascule new` does and says."""

import json
from pathlib import Path

import pytest

from bascule.cli.commands.new import run, told
from bascule.cli.parser.grammar import WrongWords
from bascule.cli.parser.parser import build_parser

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
