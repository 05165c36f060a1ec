"""Entries as single programs write them."""

from pathlib import Path
from typing import Any

import pytest

from bascule.config.importing.dialects import Common, Scene, common


def told(program: str, raw: dict[str, Any], folder: Path = Path("/work"), inputs: Any = None) -> Common:
    return common(raw, Scene(program, folder, Path("/home/ada"), inputs or {}))


def test_an_entry_that_all_would_write_stays_as_it_is():
    raw = {"command": "npx", "args": ["-y", "a"], "env": {"A": "b"}, "timeout": 5000}

    assert told("cursor", raw).raw == raw


def test_zed_writes_a_command_as_a_mapping():
    written = {"source": "custom", "command": {"path": "z", "args": ["a"], "env": {"B": "c"}}, "settings": {"x": 1}}
    read = told("zed", written)

    assert read.raw == {"command": "z", "args": ["a"], "env": {"B": "c"}}
    assert [*read.left_out] == ["settings"]


def test_codex_names_variables_and_counts_seconds():
    written = {
        "url": "https://a.test",
        "bearer_token_env_var": "T",
        "http_headers": {"A": "b"},
        "env_http_headers": {"C": "D"},
        "enabled_tools": ["x"],
        "disabled_tools": ["y"],
        "startup_timeout_sec": 20,
        "tool_timeout_sec": 7,
    }

    assert told("codex", written).raw == {
        "url": "https://a.test",
        "headers": {"A": "b", "C": "${D}", "Authorization": "Bearer ${T}"},
        "includeTools": ["x"],
        "excludeTools": ["y"],
        "x-bascule": {"timeouts": {"connect": 20, "call": 7}},
    }


def test_variables_that_codex_passes_on_are_references():
    read = told("codex", {"command": "a", "env_vars": ["A", "B", 3], "env": {"B": "own"}})

    assert read.raw["env"] == {"A": "${A}", "B": "own"}


def test_gemini_needs_no_braces():
    read = told("gemini", {"command": "a", "args": ["$A", "${B}", "a$"], "env": {"C": "x-$D"}})

    assert (read.raw["args"], read.raw["env"]) == (["${A}", "${B}", "a$"], {"C": "x-${D}"})


@pytest.mark.parametrize(("tools", "included"), [(["*"], None), (["a"], ["a"]), ([], [])])
def test_copilot_lists_tools_or_all(tools: list[str], included: list[str] | None):
    read = told("copilot", {"type": "local", "command": "a", "tools": tools})

    assert (read.raw["type"], read.raw.get("includeTools")) == ("stdio", included)


@pytest.mark.parametrize(
    ("program", "given", "read"),
    [
        ("cline", 60, 60000),
        ("roo", 5, 5000),
        ("gemini", 60, 60),
        ("claude-code", 999, None),
        ("claude-code", 1000, 1000),
    ],
)
def test_a_timeout_means_what_its_program_means_by_it(program: str, given: int, read: int | None):
    assert told(program, {"command": "a", "timeout": given}).raw.get("timeout") == read


def test_a_timeout_that_is_no_number_stays_to_be_refused():
    assert told("cline", {"timeout": "5"}).raw["timeout"] == "5"


def test_tools_that_are_switched_off_are_excluded():
    assert told("kiro", {"command": "a", "disabledTools": ["x"]}).raw == {"command": "a", "excludeTools": ["x"]}
    assert told("kiro", {"disabledTools": ["x"], "excludeTools": ["y"]}).raw == {"excludeTools": ["y"]}


@pytest.mark.parametrize("key", ["autoApprove", "alwaysAllow", "trust", "sandboxEnabled", "headersHelper"])
def test_what_means_nothing_here_is_named(key: str):
    read = told("cursor", {"command": "a", key: ["x"]})

    assert (read.raw, [*read.left_out]) == ({"command": "a"}, [key])


@pytest.mark.parametrize("nothing", [False, [], None])
def test_what_says_nothing_is_not_named(nothing: Any):
    assert told("cursor", {"command": "a", "autoApprove": nothing}).left_out == {}


def test_a_login_is_told_in_our_keys():
    gemini = told("gemini", {"url": "u", "oauth": {"enabled": True, "clientId": "c", "scopes": ["s"], "tokenUrl": "t"}})
    cursor = told("cursor", {"url": "u", "auth": {"CLIENT_ID": "c", "CLIENT_SECRET": "s"}})

    assert gemini.raw["x-bascule"] == {"oauth": {"client_id": "c", "scopes": ["s"]}}
    assert "tokenUrl" in gemini.left_out["oauth"]
    assert cursor.raw["x-bascule"] == {"oauth": {"client_id": "c", "client_secret": "s"}}


def test_the_variables_of_a_file_become_references_and_their_values_stay(tmp_path: Path):
    (tmp_path / "a.env").write_text("ONE=1\nTWO=s3cret\n")
    read = told("cursor", {"command": "a", "env": {"ONE": "own"}, "envFile": "${workspaceFolder}/a.env"}, tmp_path)

    assert read.raw["env"] == {"TWO": "${TWO}", "ONE": "own"}
    assert str(tmp_path / "a.env") in read.notes[0]
    assert "s3cret" not in str(read)


def test_a_file_of_variables_that_is_not_there_is_told(tmp_path: Path):
    assert "nothing in" in told("cursor", {"command": "a", "envFile": "none.env"}, tmp_path).left_out["envFile"]
    (tmp_path / "odd.env").write_bytes(b"\xff")
    assert "not UTF-8" in told("cursor", {"command": "a", "envFile": "odd.env"}, tmp_path).left_out["envFile"]


def test_what_an_editor_puts_in_is_put_in():
    args = ["${workspaceFolder}/a", "${userHome}", "${workspaceFolderBasename}", "${env:A}", "${B}", "${B:-c}", "${/}"]

    assert told("vscode", {"args": args}).raw["args"] == [
        "/work/a",
        "/home/ada",
        "work",
        "${A}",
        "${B}",
        "${B:-c}",
        "/",
    ]


def test_what_an_editor_asks_for_becomes_a_variable():
    read = told(
        "vscode",
        {"env": {"A": "${input:api-key}", "B": "${input:userName}", "C": "${input:9}", "D": "${input:word}"}},
        inputs={
            "api-key": {"description": "The key"},
            "userName": {"default": "ada"},
            "word": {"default": "x", "password": True},
        },
    )

    assert read.raw["env"] == {"A": "${API_KEY}", "B": "${USER_NAME:-ada}", "C": "${INPUT_9}", "D": "${WORD}"}
    assert read.described["API_KEY"] == "The key"


def test_a_dollar_sign_that_refers_to_nothing_means_itself():
    # With us two of them stand for one.
    assert told("cursor", {"args": ["a$$b", "$c", {"d": ["$$"]}]}).raw["args"] == ["a$$$$b", "$c", {"d": ["$$$$"]}]


def test_what_only_an_editor_can_know_stays_to_be_refused():
    assert told("vscode", {"args": ["${command:x}"]}).raw["args"] == ["${command:x}"]
