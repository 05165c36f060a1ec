"""Names for a shell to complete."""

from pathlib import Path

import pytest

from bascule.cli.completion.names import names_for
from bascule.cli.main import main
from support.command import configured, entry


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)


def names(word: str, config: str | None = None, current: str = "") -> list[str]:
    return [name for name, _ in names_for(word, config, current)]


def test_servers_come_from_the_config_and_tools_from_their_last_listing(tmp_path: Path):
    config = configured(tmp_path, echo=entry("echo", prefix="say"))
    assert (names("SERVER", config), names("TOOL", config)) == (["echo"], [])
    assert main(["list", "--config", config, "--user", "u", "--session", "s", "--json"]) == 0
    assert "say_echo" in names("TOOL", config)
    assert "echo/echo" in names("SERVER[/TOOL]", config, "echo/")
    assert names("SERVER[/TOOL]", config) == ["echo"]


def test_servers_of_ones_own_are_those_that_are_run(tmp_path: Path):
    config = configured(tmp_path, desk={"type": "server", "target": "server.py"})
    assert (names("OWN_SERVER", config), names("SERVER", config)) == (["desk"], [])


def test_where_nothing_can_be_read_there_are_no_names(tmp_path: Path):
    (tmp_path / "state").mkdir()
    (tmp_path / "state/bascule.db").write_text("no database")
    config = configured(tmp_path, echo=entry("echo"))
    assert names("TOOL", config) == []
    assert names("SERVER", str(tmp_path / "none.yaml")) == []
    assert names("TEXT", config) == []
