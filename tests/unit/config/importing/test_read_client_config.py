"""The servers of another program's file."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule.config.importing.programs import PROGRAMS, ForeignFile, Program
from bascule.config.importing.read_client_config import Borrowed, Find, borrow

KNOWN = {program.name: program for program in PROGRAMS}


def read(folder: Path, program: str, text: Any, file: str = "mcp.json") -> Borrowed:
    path = folder / file
    path.write_text(text if isinstance(text, str) else json.dumps(text))
    owner = KNOWN.get(program) or Program(program, file, ())
    return borrow(ForeignFile(owner, path), folder, Path("/home/ada"))


def one(folder: Path, program: str, raw: Any) -> Find:
    key = {"vscode": "servers", "zed": "context_servers"}.get(program, "mcpServers")
    (find,) = read(folder, program, {key: {"Some Desk": raw}}).finds
    return find


def test_a_server_is_told_in_our_keys_and_in_their_order(tmp_path: Path):
    find = one(
        tmp_path,
        "gemini",
        {
            "timeout": 5000,
            "includeTools": ["a"],
            "excludeTools": ["b"],
            "httpUrl": "https://a.test",
            "headers": {"A": "b"},
        },
    )

    assert (find.name, find.theirs) == ("some-desk", "Some Desk")
    assert json.dumps(find.entry) == json.dumps(
        {
            "url": "https://a.test",
            "transport": "http",
            "headers": {"A": "b"},
            "tools": {"allow": ["a"], "block": ["b"]},
            "timeouts": {"call": 5},
        }
    )


def test_what_is_not_known_is_named(tmp_path: Path):
    find = one(tmp_path, "cursor", {"command": "a", "colour": "red", "required": True, "url": None})

    assert find.left_out.keys() == {"colour", "required"}


def test_what_is_empty_is_left_out_without_a_word(tmp_path: Path):
    assert one(tmp_path, "cursor", {"command": "a", "args": [], "env": {}}).entry == {"command": "a"}


def test_docker_is_loose_and_that_is_said(tmp_path: Path):
    find = one(tmp_path, "cursor", {"command": "docker", "args": ["run", "image"]})

    assert find.entry["sandbox"] == "none"
    assert "loose" in find.notes[0]


def test_a_timeout_that_may_have_been_meant_otherwise_is_told(tmp_path: Path):
    assert one(tmp_path, "cursor", {"command": "a", "timeout": 30}).notes == (
        "timeout is read as milliseconds: 30 of them",
    )


@pytest.mark.parametrize("flag", [{"disabled": True}, {"enabled": False}])
def test_a_server_that_is_disabled_is_known_to_be(tmp_path: Path, flag: dict[str, bool]):
    assert one(tmp_path, "cursor", {"command": "a", **flag}).disabled


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        ([], "must be a mapping"),
        ({"type": "carrier-pigeon", "command": "a"}, "no way to reach a server"),
        ({"type": "http", "command": "a"}, "there is no url"),
        ({"command": "a", "timeout": "soon"}, "must be a number of milliseconds"),
        ({"command": "a", "disabled": "yes"}, "must be true or false"),
    ],
)
def test_one_that_cannot_be_read_is_told_and_takes_no_other_away(tmp_path: Path, raw: Any, why: str):
    bad, good = read(tmp_path, "cursor", {"mcpServers": {"bad": raw, "good": {"command": "a"}}}).finds

    assert why in bad.refused
    assert (good.refused, good.entry) == ("", {"command": "a"})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "line 1: not JSON"),
        ("[1]", "it must hold a mapping"),
        ('{"mcpServers": []}', "mcpServers must be a mapping"),
        ('{"mcpServers": {"a": 1, "a": 2}}', "stands twice"),
        ('{"mcp_servers": {"a": {"command": "b"}}}', "it is a config of ours already"),
    ],
)
def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, text: str, why: str):
    borrowed = read(tmp_path, "cursor", text)

    assert why in borrowed.problem
    assert str(tmp_path) not in borrowed.problem
    assert borrowed.finds == ()


def test_a_file_that_is_gone_is_told(tmp_path: Path):
    borrowed = borrow(ForeignFile(KNOWN["cursor"], tmp_path / "none"), tmp_path, tmp_path)

    assert borrowed.problem == "it does not exist"


@pytest.mark.parametrize("text", ["", "{}", '{"theme": "dark"}'])
def test_a_file_without_servers_has_none(tmp_path: Path, text: str):
    borrowed = read(tmp_path, "gemini", text)

    assert (borrowed.finds, borrowed.problem) == ((), "")


def test_comments_are_forgiven_and_inputs_are_variables(tmp_path: Path):
    text = """{ // mine
      "inputs": [{"id": "key", "description": "The key"}],
      "servers": {"a": {"command": "b", "env": {"K": "${input:key}"}}},
    }"""
    (find,) = read(tmp_path, "vscode", text).finds

    assert (find.entry["env"], find.described) == ({"K": "${KEY}"}, {"KEY": "The key"})


def test_toml_is_read_and_broken_toml_is_told(tmp_path: Path):
    good = read(tmp_path, "codex", '[mcp_servers.a]\ncommand = "b"\n', "config.toml")
    bad = read(tmp_path, "codex", "[mcp_servers", "config.toml")

    assert [find.entry for find in good.finds] == [{"command": "b"}]
    assert bad.problem.startswith("not TOML")


def test_servers_of_one_folder_are_those_of_this_one(tmp_path: Path):
    inner = tmp_path / "inner"
    inner.mkdir()
    root = {
        "mcpServers": {"everywhere": {"command": "a"}},
        "projects": {
            str(tmp_path): {
                "mcpServers": {"here": {"command": "b"}, "off": {"command": "c"}},
                "disabledMcpServers": ["off"],
            },
            "/elsewhere": {"mcpServers": {"there": {"command": "d"}}},
            "/empty": {"allowedTools": []},
        },
    }
    path = tmp_path / ".claude.json"
    path.write_text(json.dumps(root))
    borrowed = borrow(ForeignFile(KNOWN["claude-code"], path), inner, tmp_path)

    assert [(find.theirs, find.disabled) for find in borrowed.finds] == [
        ("here", False),
        ("off", True),
        ("everywhere", False),
    ]
    assert "/elsewhere (there)" in borrowed.notes[0]


@pytest.mark.parametrize(("said", "off"), [({"excluded": ["b"]}, ["b"]), ({"allowed": ["b"]}, ["a"]), ({}, [])])
def test_servers_that_gemini_switches_off_elsewhere_are_disabled(tmp_path: Path, said: Any, off: list[str]):
    borrowed = read(tmp_path, "gemini", {"mcp": said, "mcpServers": {"a": {"command": "x"}, "b": {"command": "y"}}})

    assert [find.theirs for find in borrowed.finds if find.disabled] == off


@pytest.mark.parametrize(
    "root",
    [{"servers": {"a": {"command": "b"}}}, {"a": {"command": "b"}, "note": 1}, {"mcpServers": {"a": {"command": "b"}}}],
)
def test_a_file_that_is_nobodys_is_read_by_its_shape(tmp_path: Path, root: Any):
    (find,) = read(tmp_path, "some", root).finds

    assert (find.name, find.entry) == ("a", {"command": "b"})
