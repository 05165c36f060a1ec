"""`bascule add`, word by word."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from bascule.cli.commands import add
from bascule.cli.commands.add import target
from bascule.cli.main import parse
from bascule.cli.parser.command_table import build_parser
from bascule.core.errors import UsageError


def asked(*argv: str) -> Namespace:
    return parse(build_parser(), ["add", *argv])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("BASCULE_CONFIG", raising=False)
    return tmp_path


def entry_of(*argv: str) -> dict[str, Any]:
    return add._wanted(asked(*argv)).entry


def test_a_command_is_taken_as_it_is():
    assert entry_of("x", "--", "npm", "exec", "--", "pkg@1.0.0", "--", "-v") == {
        "command": "npm",
        "args": ["exec", "--", "pkg@1.0.0", "--", "-v"],
    }
    assert entry_of("x", "server") == {"command": "server"}


def test_variables_are_passed_on_by_name_or_with_a_value():
    assert entry_of("x", "--env", "TOKEN", "--env", "MODE=fast", "--", "a")["env"] == {
        "TOKEN": "${TOKEN}",
        "MODE": "fast",
    }


def test_a_url_has_headers():
    assert entry_of("x", "https://a.test/mcp", "--header", "Authorization: Bearer ${T}", "--header", "X-A:b") == {
        "url": "https://a.test/mcp",
        "headers": {"Authorization": "Bearer ${T}", "X-A": "b"},
    }


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (("x",), "how is x reached"),
        (("X Y", "--", "a"), "cannot be the name"),
        (("x", "--name", "y", "--", "a"), "cannot be the name"),
        (("x", "--from", "npm", "--", "a"), "goes with a server.json"),
        (("x", "--header", "A: b", "--", "a"), "goes with a URL"),
        (("x", "https://a.test", "--env", "A"), "goes with a command"),
        (("x", "https://a.test", "--header", "A"), "is no header"),
        (("x", "https://a.test", "--header", "Authorization: Bearer abcdef123456"), "for everyone to read"),
        (("x", "--env", "API_TOKEN=abc123", "--", "a"), "for everyone to read"),
        (("x", "--", "a", "--token", "ghp_abcdefghijklmnop1234"), "looks like a credential"),
        (("no-such.json",), "cannot be read"),
        (("x", "server.json"), "server.json is no command"),
        ((".",), "cannot be read"),
        (("server.json", "--env", "A"), "says itself"),
    ],
)
def test_what_makes_no_sense_is_told(argv: tuple[str, ...], told: str):
    with pytest.raises(UsageError) as caught:
        add._wanted(asked(*argv))

    assert told in caught.value.message
    assert "abc" not in str(caught.value.message + caught.value.evidence + caught.value.fix)


def test_a_server_json_of_any_size_is_not_read(tmp_path: Path):
    (tmp_path / "server.json").write_text(" " * (add.MAX_FILE + 1))
    with pytest.raises(UsageError, match="larger than"):
        add._wanted(asked("server.json"))


def test_the_file_is_the_one_that_is_named_the_one_that_is_there_or_a_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    assert target(None) == tmp_path / "bascule.yaml"
    (tmp_path / ".mcp.json").write_text("{}")
    assert target(None) == tmp_path / ".mcp.json"
    assert target("other.yaml") == tmp_path / "other.yaml"
    monkeypatch.setenv("BASCULE_CONFIG", "mine.yaml")
    assert target(None) == tmp_path / "mine.yaml"


def test_a_server_to_add_takes_variables_headers_and_a_source():
    options = asked("x.json", "--from", "npm", "--env", "A", "--env", "B=1", "--dry-run")
    assert (options.what, options.rest, options.source, options.env) == ("x.json", [], "npm", ["A", "B=1"])
    assert (options.dry_run, options.replace, options.config) == (True, False, None)
