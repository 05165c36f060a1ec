"""Rules that hold for a server however it was described."""

from typing import Any

import pytest

from bascule.config.secret import Secret
from bascule.config.validation import (
    Flaw,
    choice_flaws,
    container_flaws,
    credential_flaws,
    exposure_flaws,
    header_flaws,
    headers_command_flaws,
    http_flaws,
    items,
    name_flaws,
    refuse,
    runtime_flaws,
    seconds_flaws,
    stdio_flaws,
    texts,
    unix_flaws,
    ws_flaws,
)
from bascule.core.errors import ConfigError

GOOD_STDIO: dict[str, Any] = {"command": "npx", "args": (), "cwd": None, "env": {}, "inherit_env": ()}


def paths(flaws: Any) -> list[tuple[str | int, ...]]:
    return [flaw.path for flaw in flaws]


def test_every_flaw_is_in_the_error():
    with pytest.raises(ConfigError) as caught:
        refuse("Thing", [Flaw(("a",), "is bad"), Flaw(("b", 1), "is worse")])
    assert str(caught.value) == "Thing: a: is bad; b[1]: is worse"
    assert caught.value.problems == ("a: is bad", "b[1]: is worse")


def test_no_flaw_is_no_error():
    refuse("Thing", [])


def test_a_bad_name_is_told_with_a_good_one():
    assert next(str(flaw) for flaw in name_flaws("My Server")).endswith('"my-server" would do')
    assert paths(name_flaws(5)) == [("name",)]
    assert list(name_flaws("files")) == []


@pytest.mark.parametrize(
    ("field", "value", "path"),
    [
        ("command", "", ("command",)),
        ("command", "  ", ("command",)),
        ("command", None, ("command",)),
        ("command", "a\0b", ("command",)),
        ("command", "npx -y server", ("command",)),
        ("args", "-y server", ("args",)),
        ("args", ("-y", 5), ("args", 1)),
        ("args", ("a\0",), ("args", 0)),
        ("cwd", "", ("cwd",)),
        ("cwd", 5, ("cwd",)),
        ("env", ["A=1"], ("env",)),
        ("env", {"A=B": "1"}, ("env", "A=B")),
        ("env", {"": "1"}, ("env", "")),
        ("env", {"A": 1}, ("env", "A")),
        ("env", {"A": "x\0y"}, ("env", "A")),
        ("env", {"A": Secret("x\0y")}, ("env", "A")),
        ("env", {5: "x"}, ("env", "5")),
        ("inherit_env", "PATH", ("inherit_env",)),
        ("inherit_env", ("",), ("inherit_env", 0)),
    ],
)
def test_a_child_process_that_cannot_be_started_is_refused(field: str, value: Any, path: tuple[str | int, ...]):
    assert paths(stdio_flaws(**GOOD_STDIO | {field: value})) == [path]


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("command", "/opt/my tools/server"),
        ("command", "C:\\Program Files\\server.exe"),
        ("args", ("", "-y")),
        ("env", {"A": "", "B": "line\nbreak"}),
        ("inherit_env", ("AWS_*",)),
    ],
)
def test_a_child_process_that_can_be_started_is_not(field: str, value: Any):
    assert list(stdio_flaws(**GOOD_STDIO | {field: value})) == []


def test_a_value_in_the_environment_is_never_told():
    flaws = list(stdio_flaws(**GOOD_STDIO | {"env": {"A": "hunter2\0"}}))

    assert flaws
    assert "hunter2" not in str(flaws[0])


def test_a_container_is_named_as_engines_name_them():
    assert [*container_flaws("my_box-1.2")] == []
    assert [flaw.path for flaw in container_flaws("my box")] == [("container",)]


def test_a_credential_among_arguments_is_refused_with_advice():
    (flaw,) = credential_flaws(["-y", "--token=abcdefg"])

    assert flaw.path == ("args", 1)
    assert "`env`" in flaw.text


@pytest.mark.parametrize(
    ("headers", "path"),
    [
        ({"X Y": "a"}, ("headers", "X Y")),
        ({"": "a"}, ("headers", "")),
        ({"X": "a\r\nY: b"}, ("headers", "X")),
        ({"X": 5}, ("headers", "X")),
        ("X: a", ("headers",)),
    ],
)
def test_a_header_that_cannot_be_sent_is_refused(headers: Any, path: tuple[str, ...]):
    assert paths(http_flaws(url="https://a.test", headers=headers)) == [path]
    assert paths(ws_flaws(url="wss://a.test", headers=headers)) == [path]
    assert paths(unix_flaws(url="unix:///run/x.sock", headers=headers)) == [path]


def test_what_opens_a_websocket_is_nobody_elses_to_say():
    headers = {"sec-websocket-protocol": "token", "Authorization": "Bearer x"}

    assert paths(ws_flaws(url="wss://a.test", headers=headers)) == [("headers", "sec-websocket-protocol")]


def test_an_address_must_be_text():
    for flaws in (http_flaws, ws_flaws, unix_flaws):
        assert paths(flaws(url=None, headers={})) == [("url",)]


@pytest.mark.parametrize("prefix", ["a b", "a.b", "ü", "a" * 33, 5])
def test_a_prefix_that_no_tool_name_can_have_is_refused(prefix: Any):
    assert paths(exposure_flaws(prefix=prefix, allow=None, block=())) == [("prefix",)]


@pytest.mark.parametrize("prefix", [None, "", "Git-Hub_2"])
def test_other_prefixes_are_not(prefix: Any):
    assert list(exposure_flaws(prefix=prefix, allow=("read_*",), block=())) == []


def test_an_allow_list_must_be_a_list():
    assert paths(exposure_flaws(prefix=None, allow="read_file", block="*")) == [("allow",), ("block",)]
    assert paths(exposure_flaws(prefix=None, allow=("",), block=())) == [("allow", 0)]


def test_a_word_that_is_no_choice_is_not_repeated():
    (flaw,) = choice_flaws("era", "neww", ("auto", "old", "new"))

    assert flaw.text == 'must be one of auto, old, new; did you mean "new"?'
    assert paths(choice_flaws("era", 5, ("auto",))) == [("era",)]


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), True, "5", None])
def test_a_time_must_be_finite_and_above_zero(value: Any):
    assert paths(seconds_flaws("call", value)) == [("call",)]


SETTINGS: dict[str, Any] = {
    "links_max": 100,
    "links_starting": 8,
    "message_max": 2**23,
    "store": None,
    "workspace_root": None,
    "workspace_quota": 2**30,
    "anchor_every": 60,
    "search_above": None,
}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("links_max", 0),
        ("links_starting", True),
        ("message_max", 5),
        ("message_max", 2**40),
        ("store", "postgresql://db"),
        ("store", "mysql://db/x"),
        ("store", ""),
        ("workspace_root", ""),
        ("workspace_root", "a\0b"),
        ("workspace_quota", 0),
        ("anchor_every", 0),
        ("search_above", 0),
        ("search_above", True),
    ],
)
def test_settings_of_a_runtime_have_bounds(field: str, value: Any):
    assert paths(runtime_flaws(SETTINGS | {field: value})) == [(field,)]


@pytest.mark.parametrize(
    "store", [None, "state.db", "/var/lib/bascule.db", "sqlite:///var/lib/bascule.db", "postgresql://me@db/x"]
)
def test_a_store_is_a_file_or_a_database(store: str | None):
    assert list(runtime_flaws(SETTINGS | {"store": store})) == []


def test_a_text_has_no_items():
    assert items("abc") is None
    assert items(["a"]) == ("a",)
    assert texts(["a", "b"]) == ("a", "b")


@pytest.mark.parametrize(
    ("command", "more", "told"),
    [
        (None, {"kind": "ws", "lifetime": "shared", "kit": True}, []),
        (("vault", "read"), {}, []),
        ((), {}, ["must be a list"]),
        ("vault read", {}, ["must be a list"]),
        ((" ",), {}, ["must be a list"]),
        (("vault", 5), {}, ["must be a list"]),
        (("vault", "a\0b"), {}, ["must be a list"]),
        (("vault", "ghp_0123456789abcdefghijABCDEFGHIJ012345"), {}, ["looks like a credential"]),
        (("vault",), {"kind": "ws"}, ["WebSocket"]),
        (("vault",), {"lifetime": "shared"}, ["each principal's own"]),
        (("vault",), {"kit": True}, ["a token of ours"]),
    ],
)
def test_a_program_that_prints_headers_is_one_for_each_principal(command: Any, more: dict[str, Any], told: list[str]):
    given: dict[str, Any] = {"kind": "http", "lifetime": "session", "kit": False, **more}
    found = [str(flaw) for flaw in headers_command_flaws(command=command, **given)]
    assert len(found) == len(told)
    assert all(flaw.startswith("headers_command") and words in flaw for flaw, words in zip(found, told, strict=True))


def test_headers_that_were_printed_say_nothing_of_the_message_itself():
    printed = {
        "Authorization": "Bearer x",
        "X-Key": "k",
        "HOST": "h",
        "Mcp-Name": "n",
        "te": "x",
        "a b": "c",
        "d": "\n",
    }
    found = {flaw.path[1] for flaw in header_flaws(printed)}
    assert found == {"HOST", "Mcp-Name", "te", "a b", "d"}
