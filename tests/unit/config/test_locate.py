"""Which configuration a command uses."""

from pathlib import Path

import pytest

from bascule.config.locate import CANDIDATES, find, locate
from bascule.core.errors import ConfigError


def touch(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


def test_the_first_of_the_known_names_is_used(tmp_path: Path):
    for name in reversed(CANDIDATES):
        made = touch(tmp_path / name)
        assert locate(None, {}, tmp_path) == made


def test_a_named_file_comes_before_all(tmp_path: Path):
    touch(tmp_path / "bascule.yaml")
    named, other = touch(tmp_path / "x.yaml"), touch(tmp_path / "y.yaml")

    assert locate("x.yaml", {"BASCULE_CONFIG": str(other)}, tmp_path) == named
    assert locate(None, {"BASCULE_CONFIG": "y.yaml"}, tmp_path) == other
    assert locate(named, {}, Path("/")) == named


def test_an_empty_variable_names_nothing(tmp_path: Path):
    made = touch(tmp_path / "bascule.yaml")

    assert locate(None, {"BASCULE_CONFIG": ""}, tmp_path) == made


def test_folders_above_are_not_searched(tmp_path: Path):
    touch(tmp_path / "bascule.yaml")
    (tmp_path / "inner").mkdir()

    with pytest.raises(ConfigError):
        locate(None, {}, tmp_path / "inner")


def test_the_working_folder_is_the_processs_unless_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = touch(tmp_path / ".mcp.json")
    monkeypatch.chdir(tmp_path)

    assert locate(None, {}) == made


def test_finding_nothing_says_what_was_looked_for_and_how_to_make_one(tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        locate(None, {}, tmp_path)
    assert all(name in caught.value.evidence for name in (*CANDIDATES, "--config", "BASCULE_CONFIG"))
    assert "bascule add NAME" in caught.value.fix


def test_a_named_file_that_does_not_exist_says_who_named_it(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"--config.*does not exist"):
        locate("nope.yaml", {}, tmp_path)
    with pytest.raises(ConfigError, match=r"BASCULE_CONFIG.*is a folder"):
        locate(None, {"BASCULE_CONFIG": str(tmp_path)}, tmp_path)


def test_who_needs_no_config_finds_none_and_is_still_told_of_a_name_that_is_wrong(tmp_path: Path):
    assert find(None, {}, tmp_path) is None
    made = touch(tmp_path / "mcp.json")
    assert find(None, {}, tmp_path) == made
    with pytest.raises(ConfigError, match=r"none\.yaml, named by --config, does not exist"):
        find("none.yaml", {}, tmp_path)
    with pytest.raises(ConfigError, match=r"named by [$]BASCULE_CONFIG"):
        find(None, {"BASCULE_CONFIG": "none.yaml"}, tmp_path)
