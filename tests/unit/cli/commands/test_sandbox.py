"""`bascule sandbox`."""

import io
import json
import sys
from pathlib import Path

import pytest

from bascule.cli.commands import sandbox
from bascule.cli.commands.sandbox import run
from bascule.cli.main import main
from bascule.cli.parser.command_table import build_parser
from bascule.core.errors import ConfigError


class Streams:
    """A stream of bytes, in the place of one of text."""

    def __init__(self, data: bytes = b"") -> None:
        self.buffer = io.BytesIO(data)


async def test_serving_answers_what_comes_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = Streams()
    monkeypatch.setattr(sys, "stdin", Streams(b'{"id": 1, "method": "ping"}\n'))
    monkeypatch.setattr(sys, "stdout", out)
    assert await run(build_parser().parse_args(["sandbox", "serve", "--unboxed", str(tmp_path)])) == 0
    assert b'"id": 1' in out.buffer.getvalue()


async def test_without_a_box_it_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("BASCULE_LANE", raising=False)
    with pytest.raises(ConfigError, match="no box"):
        await run(build_parser().parse_args(["sandbox", "serve"]))


def test_what_to_do_has_to_be_said(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit) as caught:
        main(["sandbox"])
    assert caught.value.code == 2
    assert "bascule sandbox needs SUBCOMMAND" in capsys.readouterr().err


async def test_boxes_and_packages_are_listed_and_an_unknown_name_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    folder = tmp_path / "run/abandoned/boxes/my-files-sealed-0123456789ab"
    folder.mkdir(parents=True)
    (tmp_path / "run/abandoned/lock").touch()
    (folder / "pid").write_text("999999999")

    assert await run(build_parser().parse_args(["sandbox", "ls", "--json"])) == 0
    (box,) = json.loads(capsys.readouterr().out)["boxes"]
    assert (box["server"], box["lane"], box["engine"], box["orphaned"]) == ("my-files", "sealed", "bubblewrap", True)

    assert await run(build_parser().parse_args(["sandbox", "ls"])) == 0
    assert "its runtime is dead" in capsys.readouterr().out
    assert await run(build_parser().parse_args(["sandbox", "rm", "nothing-of-ours"])) == 2
    assert capsys.readouterr().err.startswith("BSC-200  no box and no fetched packages are called nothing-of-ours\n")


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (59, "59 s"), (120, "2 min"), (7200, "2 h"), (200000, "2 d")]
)
def test_ages_are_told_as_people_tell_them(seconds: float, told: str):
    assert sandbox._age(seconds) == told


@pytest.mark.parametrize(
    ("size", "told"), [(10, "10 B"), (2048, "2 KiB"), (5 * 1024**2, "5 MiB"), (3 * 1024**3, "3.0 GiB")]
)
def test_sizes_are_told_as_people_tell_them(size: float, told: str):
    assert sandbox._size(size) == told


def test_boxes_are_removed_by_name():
    assert build_parser().parse_args(["sandbox", "rm", "a", "b"]).names == ["a", "b"]
