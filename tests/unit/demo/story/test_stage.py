"""Where the story is played."""

import os
import sys
from pathlib import Path

import pytest

from bascule.config.state_dir import state_folder
from bascule.core.permission import Permission
from bascule.demo.story.stage import FILES, PACKAGE, built_in, stage, surrounded


def test_state_is_kept_on_the_stage_and_nothing_of_it_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("BASCULE_HOME", str(tmp_path / "mine"))
    with stage() as place:
        assert state_folder(os.environ) == place.home
        assert {path.name: path.read_text() for path in (place.folder / "files").iterdir()} == FILES
        place.home.mkdir()
        (place.home / "kept").touch()

    assert not place.folder.exists()
    assert state_folder(os.environ) == tmp_path / "mine"


def test_it_is_gone_also_if_the_story_breaks_off():
    with pytest.raises(KeyboardInterrupt), stage() as place:  # noqa: PT012
        assert place.folder.exists()
        raise KeyboardInterrupt
    assert not place.folder.exists()


@pytest.mark.parametrize(("said", "meant"), [(None, "bubblewrap"), ("docker", "bubblewrap"), ("none", "none")])
def test_boxes_are_made_by_bubblewrap_unless_none_are_wanted(
    monkeypatch: pytest.MonkeyPatch, said: str | None, meant: str
):
    monkeypatch.delenv("BASCULE_SANDBOX")
    if said is not None:
        monkeypatch.setenv("BASCULE_SANDBOX", said)
    with stage():
        assert os.environ["BASCULE_SANDBOX"] == meant
    assert os.environ.get("BASCULE_SANDBOX") == said


def test_its_servers_read_and_send_and_the_first_is_believed_about_labels():
    with stage() as place:
        files, post = place.config.servers["files"], place.config.servers["post"]

    assert (files.trust, post.trust) == ({"labels"}, frozenset())
    assert files.permissions == {"list": {Permission.READ}, "read": {Permission.READ}}
    assert post.permissions == {"send": {Permission.WRITE, Permission.CONNECT}}


def test_a_built_in_server_is_of_this_very_version():
    transport = built_in("notes", "x")

    assert (transport.command, transport.args) == (sys.executable, ("-m", "bascule.demo.notes", "x"))
    assert (PACKAGE / "bascule" / "demo" / "notes.py").is_file()
    assert transport.cwd == str(PACKAGE)


def test_the_environment_is_afterwards_as_it_was(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("ONE", "1")
    monkeypatch.delenv("TWO", raising=False)
    with surrounded({"ONE": "one", "TWO": "two"}):
        assert (os.environ["ONE"], os.environ["TWO"]) == ("one", "two")

    assert os.environ["ONE"] == "1"
    assert "TWO" not in os.environ
