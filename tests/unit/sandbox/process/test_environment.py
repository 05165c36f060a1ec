import json
import subprocess
from os import defpath

from bascule.sandbox.process.environment import SAFE_BASE, child_environment, let_through
from support.servers import argv

PARENT = {
    "PATH": "/bin",
    "HOME": "/home/alice",
    "LANG": "C.UTF-8",
    "TERM": "xterm",
    "TMPDIR": "/var/tmp",
    "AWS_SECRET_ACCESS_KEY": "aws",
    "GITHUB_TOKEN": "github",
    "path": "not the path",
    "LD_PRELOAD": "/evil.so",
    "PYTHONPATH": "/evil",
}


def test_a_parent_full_of_secrets_gives_its_safe_base_alone():
    assert child_environment({}, (), PARENT) == {name: PARENT[name] for name in SAFE_BASE}


def test_what_is_configured_is_added_and_wins():
    passed = child_environment({"PATH": "/opt/bin", "API_KEY": "k"}, (), PARENT)

    assert passed == {**{name: PARENT[name] for name in SAFE_BASE}, "PATH": "/opt/bin", "API_KEY": "k"}


def test_inherit_lets_names_and_globs_through_and_nothing_like_them():
    passed = child_environment({}, ("AWS_*", "path"), PARENT)

    assert passed.keys() - set(SAFE_BASE) == {"AWS_SECRET_ACCESS_KEY", "path"}


def test_what_is_let_through_is_named_or_matched_and_nothing_stands_in():
    assert let_through(("A", "B_*"), {"A": "1", "B_X": "2", "AB": "3", "PATH": "/bin"}) == {"A": "1", "B_X": "2"}
    assert let_through((), {"PATH": "/bin"}) == {}


def test_what_is_configured_wins_over_what_is_inherited():
    assert child_environment({"GITHUB_TOKEN": "ours"}, ("GITHUB_*",), PARENT)["GITHUB_TOKEN"] == "ours"


def test_the_system_path_stands_in_for_a_missing_one():
    assert child_environment({}, (), {}) == {"PATH": defpath}


def test_a_real_child_sees_exactly_that():
    env = child_environment({"API_KEY": "k"}, (), PARENT)

    ended = subprocess.run(argv("portrait"), env=env, input="", capture_output=True, text=True, check=True, timeout=30)

    seen = json.loads(ended.stdout)["env"]
    seen.pop("LC_CTYPE", None)  # Python sets it for itself where the locale is plain C
    assert seen == env
