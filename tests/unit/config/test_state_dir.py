"""State folder, and the documented environment variables of a kit server."""

from pathlib import Path

import pytest

from bascule.config import state_dir
from bascule.config.state_dir import state_folder, surroundings
from bascule.core.errors import ConfigError


@pytest.mark.parametrize(
    ("environ", "folder"),
    [
        ({"BASCULE_HOME": "/srv/b", "XDG_STATE_HOME": "/x", "HOME": "/home/a"}, "/srv/b"),
        ({"BASCULE_HOME": "", "XDG_STATE_HOME": "/x", "HOME": "/home/a"}, "/x/bascule"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/home/a"}, "/home/a/.local/state/bascule"),
        ({"XDG_STATE_HOME": "", "HOME": "/home/a"}, "/home/a/.local/state/bascule"),
        ({"BASCULE_HOME": "~/b", "HOME": "/home/a"}, "/home/a/b"),
    ],
)
def test_the_folder_is_told_by_the_environment(environ: dict[str, str], folder: str):
    assert state_folder(environ) == Path(folder)


def test_a_relative_folder_is_made_absolute():
    assert state_folder({"BASCULE_HOME": "state"}) == Path.cwd() / "state"


def test_without_any_variable_it_is_in_the_users_home():
    assert state_folder({}) == Path.home() / ".local" / "state" / "bascule"


def test_a_user_without_a_home_is_told_what_to_set():
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    with pytest.raises(ConfigError) as caught:
        state_folder({}, homeless)
    assert "BASCULE_HOME" in caught.value.fix


def test_asking_for_the_folder_makes_nothing(tmp_path: Path):
    assert state_folder({"BASCULE_HOME": str(tmp_path / "b")}) == tmp_path / "b"
    assert not (tmp_path / "b").exists()


def test_a_server_of_ours_finds_the_state_and_the_workspaces_of_who_starts_it(tmp_path: Path):
    assert surroundings(tmp_path, None) == {"BASCULE_HOME": str(tmp_path)}
    assert surroundings(tmp_path, "/srv/files")["BASCULE_WORKSPACES"] == "/srv/files"
    assert surroundings(tmp_path, "files")["BASCULE_WORKSPACES"] == str(Path("files").absolute())


PAGE = (Path(__file__).parents[3] / "docs/kit.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "variable",
    [state_dir.LANE_VARIABLE, state_dir.RAISE_SOCKET_VARIABLE, state_dir.WORKSPACE_VARIABLE],
)
def test_every_variable_is_told_of(variable: str):
    assert f"| `{variable}` |" in PAGE
