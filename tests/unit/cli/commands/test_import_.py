"""`bascule import`: choice of the config and of the programs. The rest is in tests/behaviour/test_import.py."""

from argparse import Namespace
from pathlib import Path

import pytest

from bascule.cli.commands.import_ import run, target
from bascule.core.errors import ConfigError, UsageError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    for name in ("BASCULE_CONFIG", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def options(**given: object) -> Namespace:
    usual = {"config": None, "json": False, "sources": [], "only": [], "write": False, "with_secrets": False}
    return Namespace(**{**usual, "undo": False, **given})


def test_the_config_is_the_one_that_is_named_then_the_folders_then_a_new_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    (folder / ".mcp.json").write_text("{}")
    assert target(None) == folder / "bascule.yaml"
    (folder / "bascule.yml").write_text("")
    assert target(None) == folder / "bascule.yml"
    monkeypatch.setenv("BASCULE_CONFIG", "other.yaml")
    assert target(None) == folder / "other.yaml"
    assert target("named.yaml") == folder / "named.yaml"


async def test_where_nothing_is_found_that_is_said(capsys: pytest.CaptureFixture[str]):
    assert await run(options()) == 0

    assert "no MCP config of another program was found" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("source", "told"), [("curser", 'did you mean "cursor"'), ("cursor", "Cursor has no MCP config")]
)
async def test_a_program_that_is_not_there_is_told(source: str, told: str):
    with pytest.raises(UsageError, match=told):
        await run(options(sources=[source]))


async def test_a_server_that_nobody_has_is_told(folder: Path):
    (folder / ".mcp.json").write_text('{"mcpServers": {"notes": {"command": "a"}}}')
    with pytest.raises(UsageError, match='did you mean "notes"'):
        await run(options(only=["note"]))


async def test_a_file_of_another_program_is_not_imported_into(folder: Path):
    (folder / ".mcp.json").write_text('{"mcpServers": {"notes": {"command": "a"}}}')
    with pytest.raises(ConfigError, match="is a file of another program"):
        await run(options(config=".mcp.json", write=True))


async def test_what_to_run_next_names_what_was_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]):
    (folder / "a b.json").write_text('{"mcpServers": {"notes": {"command": "a"}}}')
    await run(options(sources=["a b.json"], only=["notes"], config="x.yaml"))
    assert capsys.readouterr().out.endswith(
        "to write x.yaml: bascule import --from 'a b.json' --only notes --config x.yaml --write\n"
    )
    await run(options(sources=["a b.json"], config="x.yaml", write=True))
    assert "undo: bascule import --undo --config x.yaml" in capsys.readouterr().out
