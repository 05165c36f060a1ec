"""The tools as a typed module: written, checked, and never in the place of something else."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule.cli.main import main
from bascule.cli.parser.command_table import build_parser
from support.command import configured, entry
from support.runtime import a_tool

ME = ("--user", "alice", "--session", "s-1")
TOOLS = [a_tool("act", {"properties": {"n": {"type": "integer", "minimum": 1}}}), a_tool("odd", {"type": "array"})]


@pytest.fixture
def config(tmp_path: Path) -> str:
    return config_of(tmp_path, TOOLS)


def config_of(folder: Path, tools: list[Any]) -> str:
    work = entry("obeying", folder / "log", json.dumps(tools))
    return configured(folder, work=work, echo=entry("echo"))


def stubs(capsys: pytest.CaptureFixture[str], config: str, *flags: str) -> tuple[int, str, str]:
    code = main(["stubs", "--config", config, *ME, *flags])
    told = capsys.readouterr()
    return code, told.out, told.err


def test_the_module_is_printed(config: str, capsys: pytest.CaptureFixture[str]):
    code, module, _ = stubs(capsys, config)

    assert code == 0
    compile(module, "tools.py", "exec")
    assert "async def work_act(" in module
    assert "async def echo_echo(" in module
    assert "work_odd" not in module


def test_the_module_is_written_and_found_up_to_date(tmp_path: Path, config: str, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "tools.py"

    assert stubs(capsys, config, "--out", str(file))[:2] == (0, f"{file} holds 2 tools\n")
    assert file.read_text() == stubs(capsys, config)[1]
    before = file.stat().st_mtime_ns
    assert stubs(capsys, config, "--out", str(file))[:2] == (0, f"{file} held already 2 tools\n")
    assert stubs(capsys, config, "--out", str(file), "--check")[0] == 0
    assert file.stat().st_mtime_ns == before
    assert [path.name for path in tmp_path.glob("tools*")] == ["tools.py"]


def test_a_module_that_is_out_of_date_is_told_and_left_alone(
    tmp_path: Path, config: str, capsys: pytest.CaptureFixture[str]
):
    file = tmp_path / "tools.py"
    stubs(capsys, config, "--out", str(file))
    before = file.read_text()
    changed = config_of(tmp_path, [a_tool("act", description="Something else.")])
    code, out, _ = stubs(capsys, changed, "--out", str(file), "--check")

    assert code == 1
    assert f"{file} is out of date" in out
    assert file.read_text() == before
    assert stubs(capsys, changed, "--out", str(tmp_path / "missing.py"), "--check")[0] == 1
    assert not (tmp_path / "missing.py").exists()


def test_what_is_written_can_be_limited_to_some_servers(config: str, capsys: pytest.CaptureFixture[str]):
    _, module, _ = stubs(capsys, config, "--server", "work")

    assert "work_act" in module
    assert "echo_echo" not in module


def test_a_server_that_is_not_configured_is_told(config: str, capsys: pytest.CaptureFixture[str]):
    code, _, told = stubs(capsys, config, "--server", "wrok")

    assert code == 2
    assert 'did you mean "work"' in told


def test_nothing_is_written_while_a_server_cannot_be_reached(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = configured(tmp_path, bad=entry("failing", 3, "no API key"), echo=entry("echo"))
    file = tmp_path / "tools.py"
    code, _, told = stubs(capsys, config, "--out", str(file))

    assert code == 3
    assert "nothing is written: the tools of bad are not known" in told
    assert not file.exists()
    assert stubs(capsys, config, "--out", str(file), "--server", "echo")[0] == 0


@pytest.mark.parametrize("content", [b"print('mine')\n", b"", b"\xff"])
def test_a_file_of_somebody_elses_is_never_written_over(
    tmp_path: Path, config: str, capsys: pytest.CaptureFixture[str], content: bytes
):
    file = tmp_path / "mine.py"
    file.write_bytes(content)
    code, _, told = stubs(capsys, config, "--out", str(file))

    assert code == 2
    assert "mine.py" in told
    assert file.read_bytes() == content


def test_a_place_that_cannot_be_written_to_is_told(tmp_path: Path, config: str, capsys: pytest.CaptureFixture[str]):
    code, _, told = stubs(capsys, config, "--out", str(tmp_path / "nowhere" / "tools.py"))

    assert code == 2
    assert "cannot be written: No such file" in told


def test_checking_needs_a_file(config: str, capsys: pytest.CaptureFixture[str]):
    code, _, told = stubs(capsys, config, "--check")

    assert code == 2
    assert "--out FILE" in told


def test_programs_are_told_what_was_written(tmp_path: Path, config: str, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / "tools.py"
    _, out, _ = stubs(capsys, config, "--out", str(file), "--json", "--server", "work")
    shape = json.loads(out)
    (tool,) = shape["tools"]

    assert (shape["file"], shape["changed"]) == (str(file), True)
    assert (tool["name"], tool["function"], tool["exact"], tool["inexact"]) == (
        *("work_act", "work_act"),
        False,
        ["n: `minimum`"],
    )
    assert tool["digest"].startswith("sha256:")
    printed = json.loads(stubs(capsys, config, "--json", "--server", "work")[1])
    assert (printed["file"], printed["module"]) == (None, file.read_text())


def test_stubs_are_of_some_servers_or_of_all():
    options = build_parser().parse_args(["stubs", "--server", "a", "--server", "b", "--out", "f", "--check"])
    assert (options.server, options.out, options.check) == (["a", "b"], "f", True)
    assert build_parser().parse_args(["stubs"]).server == []
