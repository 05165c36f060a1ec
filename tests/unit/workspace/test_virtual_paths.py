"""How agents name files."""

from pathlib import PurePosixPath

import pytest

from bascule.core.errors import PathRefused
from bascule.workspace.virtual_paths import key_of, shown, usable


@pytest.mark.parametrize(
    ("path", "key"),
    [
        ("/workspace", ""),
        ("/workspace/", ""),
        (".", ""),
        ("/workspace/a/b", "a/b"),
        ("a/b", "a/b"),
        ("./a//b/", "a/b"),
        ("a/../b", "b"),
        ("/workspace/a/b/../../c", "c"),
        ("a/..", ""),
        ("workspace/a", "workspace/a"),
        ("...", "..."),
        ("a\\..\\b", "a\\..\\b"),
        ("%2e%2e/x", "%2e%2e/x"),
        (" ", " "),
        ("~", "~"),
        ("x" * 255, "x" * 255),
        ("Å/Å", "Å/Å"),
    ],
)
def test_a_path_below_the_workspace_has_one_key(path: str, key: str):
    assert key_of(path) == key


def test_a_path_object_is_as_good_as_text():
    assert key_of(PurePosixPath("/workspace/a")) == "a"


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("", "empty"),
        ("/", "absolute"),
        ("/etc/passwd", "absolute"),
        ("/workspacex", "absolute"),
        ("/workspace../a", "absolute"),
        ("//workspace/a", "absolute"),
        ("/Workspace/a", "absolute"),
        ("..", "leads out"),
        ("a/../..", "leads out"),
        ("/workspace/..", "leads out"),
        ("/workspace/../workspace/a", "leads out"),
        ("a\0b", "control"),
        ("a\nb", "control"),
        ("a\x7f", "control"),
        ("a\x9b", "control"),
        ("\ud800x", "control"),
        ("\udc80", "control"),
        ("x" * 256, "longer than 255"),
        ("é" * 128, "longer than 255"),
        ("a/" * 2048, "longer than 4095"),
    ],
)
def test_any_other_path_is_refused_and_not_repeated(path: str, why: str):
    with pytest.raises(PathRefused, match=why) as caught:
        key_of(path)
    assert caught.value.fix
    assert len(path) < 5 or path not in str(caught.value)


def test_a_path_is_shown_as_an_agent_sees_it():
    assert (shown(""), shown("a/b")) == ("/workspace", "/workspace/a/b")


def test_a_name_that_no_agent_can_write_is_not_usable():
    assert usable("a b")
    assert not usable("a\nb")
    assert not usable("\udcff")
