"""Servers of several programs brought together."""

from pathlib import Path
from typing import Any

import pytest

from bascule.config.importing.merge import Fate, Merged, merge, suffixed
from bascule.config.importing.programs import PROGRAMS, ForeignFile
from bascule.config.importing.read_client_config import Find
from bascule.config.names import is_name

KNOWN = {program.name: program for program in PROGRAMS}


def find(program: str, name: str, entry: dict[str, Any], **more: Any) -> Find:
    return Find(name, name, ForeignFile(KNOWN[program], Path("/f")), entry, **more)


def fates(merged: Merged) -> list[tuple[str, str]]:
    return [(each.name, each.fate.value) for each in merged.settled]


A = {"command": "a"}
B = {"command": "b"}


def test_the_same_server_of_two_programs_is_taken_once():
    merged = merge([find("cursor", "x", A), find("vscode", "x", dict(A))], {})

    assert fates(merged) == [("x", "added"), ("x", "same")]
    assert merged.entries == {"x": A}


def test_another_of_the_same_name_is_called_after_its_program():
    merged = merge([find("cursor", "x", A), find("vscode", "x", B), find("vscode", "x", {"command": "c"})], {})

    assert fates(merged) == [("x", "added"), ("x-vscode", "added"), ("x-vscode-2", "added")]
    assert merged.settled[1].why == "another server is"


def test_a_server_that_the_config_has_is_left_as_it_is():
    merged = merge(
        [find("cursor", "x", {"command": "a", "args": ["1"]})],
        {"x": {"command": "a", "args": ["1"], "required": True}},
    )

    assert fates(merged) == [("x", "there")]


def test_what_was_taken_under_another_name_is_known_again():
    existing = {"x": A, "x-vscode": B}

    assert fates(merge([find("vscode", "x", B)], existing)) == [("x-vscode", "there")]


def test_another_server_than_the_configs_is_called_after_its_program():
    merged = merge([find("cursor", "x", B)], {"x": A})

    assert fates(merged) == [("x-cursor", "added")]
    assert merged.settled[0].why == "the config has another server"


def test_another_credential_does_not_make_another_server():
    first = find("cursor", "x", {"command": "a", "env": {"TOKEN": "one"}})
    second = find("vscode", "x", {"command": "a", "env": {"TOKEN": "two"}})
    merged = merge([first, second], {})

    assert fates(merged) == [("x", "added"), ("x", "same")]
    assert merged.settled[1].why == "another credential"
    assert merged.variables.values == {"TOKEN": "one"}


@pytest.mark.parametrize(
    ("entry", "more", "fate"),
    [
        (A, {"disabled": True}, Fate.DISABLED),
        ({}, {"refused": "broken"}, Fate.REFUSED),
        ({"args": ["x"]}, {}, Fate.REFUSED),
    ],
)
def test_what_cannot_be_taken_is_left_out(entry: dict[str, Any], more: dict[str, Any], fate: Fate):
    merged = merge([find("cursor", "x", entry, **more)], {})

    assert [each.fate for each in merged.settled] == [fate]
    assert merged.entries == {}


def test_a_credential_among_arguments_is_refused_without_being_repeated():
    (settled,) = merge([find("cursor", "x", {"command": "a", "args": ["--token", "s3cretvalue"]})], {}).settled

    assert settled.fate is Fate.REFUSED
    assert settled.why.startswith("args[1]: looks like a credential")
    assert "s3cretvalue" not in settled.why


def test_variables_of_what_is_not_taken_are_not_kept():
    merged = merge([find("cursor", "x", {"command": "a", "env": {"TOKEN": "one"}}, disabled=True)], {})

    assert merged.variables.values == {}


def test_a_long_name_stays_a_name():
    assert is_name(suffixed("a" * 32, "claude-desktop"))
    assert len(suffixed("a" * 32, "claude-desktop")) == 32
