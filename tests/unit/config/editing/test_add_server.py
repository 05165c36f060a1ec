"""Insertion of a server into a config file, and of credentials into `.env`."""

import json
import stat
from pathlib import Path
from typing import Any

import pytest

from bascule.config import load_file
from bascule.config.editing.add_server import addition, dotenv_with, variables_in
from bascule.config.variables import read_dotenv
from bascule.core.errors import ConfigError, UsageError

ENTRY: dict[str, Any] = {"command": "npx", "args": ["-y", "pkg@1.2.3"], "env": {"KEY": "${KEY}"}}


def put(folder: Path, text: str | None, name: str = "bascule.yaml") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    if text is not None:
        path.write_bytes(text.encode())
    return path


def test_a_file_that_is_not_there_is_made(tmp_path: Path):
    path = put(tmp_path, None)
    added = addition(path, "new", ENTRY)
    assert not path.exists()
    added.write()

    assert load_file(path, {"KEY": "x"}).servers["new"].unavailable_reason is None
    assert added.before is None


def test_other_servers_and_settings_stay_as_they_were(tmp_path: Path):
    text = "# mine\nmcp_servers:\n  old: {command: a}  # keep\nlinks: {max: 5}\n"
    path = put(tmp_path, text)
    addition(path, "new", ENTRY).write()
    config = load_file(path, {"KEY": "x"})

    assert [*config.servers] == ["old", "new"]
    assert config.links_max == 5
    assert "# mine" in path.read_text()
    assert "# keep" in path.read_text()


def test_a_name_that_is_there_is_replaced_only_if_asked(tmp_path: Path):
    path = put(tmp_path, "mcp_servers:\n  new: {command: a}\n")
    with pytest.raises(UsageError, match="has a server called new already"):
        addition(path, "new", ENTRY)
    added = addition(path, "new", ENTRY, replace=True)

    assert added.replaced
    assert "npx" in added.after


def test_a_name_that_another_one_is_folded_to_is_there_too(tmp_path: Path):
    path = put(tmp_path, '{"mcpServers": {"Figma MCP": {"command": "a"}}}', ".mcp.json")
    with pytest.raises(UsageError, match="already"):
        addition(path, "figma-mcp", ENTRY)


@pytest.mark.parametrize(
    ("name", "text", "key"),
    [
        (".mcp.json", '{"mcpServers": {"a": {"command": "a"}}}', "mcpServers"),
        (".mcp.json", "{}", "mcpServers"),
        (".mcp.json", None, "mcpServers"),
        (".vscode/mcp.json", None, "servers"),
        ("mcp.json", '{"servers": {"a": {"command": "a"}}}', "servers"),
        ("ours.json", '{"mcp_servers": {"a": {"command": "a"}}}', "mcp_servers"),
    ],
)
def test_a_file_of_another_program_keeps_its_form(tmp_path: Path, name: str, text: str | None, key: str):
    path = put(tmp_path, text, name)
    addition(path, "new", {**ENTRY, "inherit_env": ["PROXY"]}).write()
    entry = json.loads(path.read_text())[key]["new"]

    assert entry["command"] == "npx"
    assert entry["env"] == {"KEY": "${env:KEY}" if key == "servers" else "${KEY}"}
    assert entry.get("x-bascule", entry)["inherit_env"] == ["PROXY"]
    assert load_file(path, {"KEY": "x"}).servers["new"].unavailable_reason is None


def test_servers_at_the_root_of_a_file_get_one_more(tmp_path: Path):
    path = put(tmp_path, '{"a": {"command": "a"}}', "servers.json")
    addition(path, "new", ENTRY).write()

    assert [*load_file(path, {"KEY": "x"}).servers] == ["a", "new"]


def test_an_address_is_told_with_its_way_where_other_programs_read_it(tmp_path: Path):
    path = put(tmp_path, None, ".mcp.json")
    addition(path, "plain", {"url": "https://a.test/mcp"}).write()
    addition(path, "older", {"url": "https://a.test/sse", "transport": "sse"}).write()
    servers = json.loads(path.read_text())["mcpServers"]

    assert servers == {
        "plain": {"type": "http", "url": "https://a.test/mcp"},
        "older": {"type": "sse", "url": "https://a.test/sse"},
    }


def test_editors_know_no_defaults_so_these_are_written_out(tmp_path: Path):
    added = addition(put(tmp_path, None, ".vscode/mcp.json"), "new", {"command": "a", "args": ["${A:-b}", "$${C}"]})

    assert json.loads(added.after)["servers"]["new"]["args"] == ["b", "$${C}"]


def test_lines_end_as_they_did(tmp_path: Path):
    path = put(tmp_path, "mcp_servers:\r\n  old:\r\n    command: a\r\n")
    addition(path, "new", ENTRY).write()

    assert path.read_bytes().count(b"\n") == path.read_bytes().count(b"\r\n") > 3


@pytest.mark.parametrize(
    "text",
    [
        "servers: &s {a: {command: b}}\nmcp_servers: *s\n",
        "mcp_servers: [a]\n",
        "- a\n",
        "mcp_servers:\n  a: {command: b}\n...\n---\nx: 1\n",
        "mcpServers:\n  a: {command: b}\n",
        "mcp_servers:\n  a: {nonsense: b}\n",
        "mcp_servers: {a: {command: b\n",
    ],
)
def test_what_cannot_be_changed_safely_is_left_alone(tmp_path: Path, text: str):
    path = put(tmp_path, text)
    with pytest.raises((ConfigError, UsageError)):
        addition(path, "new", ENTRY)

    assert path.read_text() == text


def test_a_text_whose_blank_lines_count_is_not_cut(tmp_path: Path):
    """Lines can only be put before the blank ones, which are a part of what stands there."""
    server = "  own:\n    type: server\n    target: a.py\n    instructions: |+\n      One.\n\n\n"
    path = put(tmp_path, f"mcp_servers:\n{server}store: x.db\n")
    with pytest.raises(ConfigError, match="something else than before"):
        addition(path, "new", ENTRY)


def test_a_refusal_shows_what_to_write_by_hand(tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        addition(put(tmp_path, "mcp_servers: *s\n"), "new", ENTRY)
    assert caught.value.message
    with pytest.raises(ConfigError) as caught:
        addition(put(tmp_path, "{links: {max: 5}}\n"), "new", ENTRY)

    assert "pkg@1.2.3" in caught.value.fix


@pytest.mark.parametrize(
    ("entry", "told"),
    [
        ({"command": "npx -y pkg"}, "must be the program alone"),
        ({"command": "a", "args": ["--token", "ghp_abcdefghijklmnop1234"]}, "looks like a credential"),
        ({"command": "a", "args": ["${API_TOKEN}"]}, "a credential by its name"),
        ({"url": "ftp://a.test"}, ""),
        ({"url": "https://me:pass@a.test/mcp"}, ""),
        ({"command": "a", "url": "https://a.test/mcp"}, ""),
    ],
)
def test_what_could_not_be_used_is_not_added(tmp_path: Path, entry: dict[str, Any], told: str):
    path = put(tmp_path, None)
    with pytest.raises(ConfigError) as caught:
        addition(path, "new", entry)

    assert told in "\n".join(caught.value.problems)
    assert not path.exists()


def test_a_variable_that_is_not_set_yet_is_no_obstacle(tmp_path: Path):
    assert addition(put(tmp_path, None), "new", {"url": "${BASE}/mcp"}).after
    assert addition(put(tmp_path, None), "new", {"url": "https://${TENANT}.a.test/mcp"}).after


def test_what_was_changed_meanwhile_is_not_written_over(tmp_path: Path):
    path = put(tmp_path, "mcp_servers: {}\n")
    added = addition(path, "new", ENTRY)
    path.write_text("mcp_servers: {b: {command: b}}\n")
    with pytest.raises(ConfigError, match="changed meanwhile"):
        added.write()

    assert path.read_text() == "mcp_servers: {b: {command: b}}\n"


def test_a_file_keeps_its_mode_and_a_link_stays_one(tmp_path: Path):
    real = put(tmp_path, "mcp_servers: {}\n", "real.yaml")
    real.chmod(0o600)
    link = tmp_path / "bascule.yaml"
    link.symlink_to(real)
    addition(link, "new", ENTRY).write()

    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert "npx" in real.read_text()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["bascule.yaml", "real.yaml"]


def test_a_folder_that_takes_no_file_is_told(tmp_path: Path):
    (tmp_path / "not-a-folder").write_text("")
    with pytest.raises(ConfigError):
        addition(tmp_path / "not-a-folder" / "bascule.yaml", "new", ENTRY).write()


def test_variables_are_found_at_any_depth_and_escaped_ones_are_none():
    found = variables_in({"args": ["${A}", "$${B}"], "env": {"C": "x${C:-d}", "D": "${env:D}", "E": "${C}"}})

    assert found == {"A": True, "C": True, "D": True}


ODD = ["plain", "with 'quotes'", 'and "others"', "a # b", "back\\slash", "'both\\\" of'", "line\nline", "$x ${y}", ""]


@pytest.mark.parametrize("value", ODD)
def test_what_is_put_in_is_what_is_read(tmp_path: Path, value: str):
    path = tmp_path / ".env"
    dotenv_with(path, {"A": value}).write()

    assert read_dotenv(path) == ({"A": value}, ())


def test_what_is_set_already_stays(tmp_path: Path):
    path = tmp_path / ".env"
    path.write_text("A=mine # note")
    dotenv_with(path, {"A": "theirs", "B": "b"}).write()

    assert path.read_text() == "A=mine # note\nB='b'\n"


def test_a_new_one_is_for_the_user_alone(tmp_path: Path):
    path = tmp_path / ".env"
    dotenv_with(path, {"A": "a"}).write()

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
