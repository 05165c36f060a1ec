"""The operator's word on a server, as it is written."""

from pathlib import Path
from typing import Any

import pytest

from bascule.config import ServerConfig, StdioTransport, load_file
from bascule.config.model.transport import UnixSocketTransport
from bascule.core.errors import ConfigError
from bascule.core.permission import Permission
from bascule.core.sensitivity import DataSensitivity

WRITTEN = """
mcp_servers:
  files:
    command: npx
    permissions: {read_text_file: read, "write_*": write, fetch: [read, connect]}
    trust: [labels, permissions]
    ask: ["delete_*"]
    raises: {read_text_file: confidential, "dump_*": secret}
    vouched: secret
catalog: {lock: required}
"""


def load(folder: Path, text: str) -> ServerConfig:
    file = folder / "bascule.yaml"
    file.write_text(text)
    return load_file(file, {}).servers["files"]


def server(**word: Any) -> ServerConfig:
    return ServerConfig("files", StdioTransport("npx"), **word)


def test_every_key_is_read(tmp_path: Path):
    files = load(tmp_path, WRITTEN)

    assert files.permissions == {
        "read_text_file": {Permission.READ},
        "write_*": {Permission.WRITE},
        "fetch": {Permission.READ, Permission.CONNECT},
    }
    assert files.trust == {"labels", "permissions"}
    assert files.ask == ("delete_*",)
    assert files.raises == {"read_text_file": DataSensitivity.CONFIDENTIAL, "dump_*": DataSensitivity.SECRET}
    assert files.vouched is DataSensitivity.SECRET
    assert load_file(tmp_path / "bascule.yaml", {}).lock == "required"


def test_unset_means_that_nothing_is_trusted():
    files = server()

    assert (files.permissions, files.trust, files.ask, files.raises) == ({}, frozenset(), (), {})
    assert (files.vouched, files.isolated, files.twin) == (None, None, "lazy")


def test_a_config_made_in_code_says_the_same():
    made = server(
        permissions={"fetch": frozenset({Permission.READ}), "write": ["write"], "read": "read"},
        raises={"dump": DataSensitivity.SECRET, "read": "internal"},
        trust=frozenset({"fatal"}),
    )

    assert made.permissions["fetch"] == made.permissions["read"] == {Permission.READ}
    assert made.raises == {"dump": DataSensitivity.SECRET, "read": DataSensitivity.INTERNAL}
    assert made.trust == {"fatal"}


def test_nothing_of_it_can_be_changed_afterwards():
    given = {"read": "read"}
    made = server(permissions=given)
    given["write"] = "read"

    assert made.permissions.keys() == {"read"}
    with pytest.raises(TypeError):
        made.permissions["write"] = frozenset()  # pyright: ignore[reportIndexIssue]


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("permissions", "{read: rad}", 'permissions.read: must be of read, write, connect; did you mean "read"?'),
        ("permissions", "{read: []}", "must be one of read, write, connect, or several"),
        ("permissions", "{read: 7}", "must be one of read, write, connect, or several"),
        ("permissions", '{"": read}', "is no name of a tool"),
        ("permissions", "[read]", "must be a mapping of names to words"),
        ("raises", "{read: public}", "must be one of internal, confidential, secret"),
        ("raises", "{read: secrt}", 'did you mean "secret"?'),
        ("raises", "{read: [secret]}", "must be one of internal, confidential, secret"),
        ("raises", '{" ": secret}', "is no name of a tool"),
        (
            "trust",
            "[label]",
            'trust[0]: must be one of permissions, annotations, labels, fatal; did you mean "labels"?',
        ),
        ("trust", "labels", "must be a list of texts"),
        ("vouched", "internal", "must be one of confidential, secret"),
        ("ask", "delete", "must be a list of texts"),
    ],
)
def test_what_cannot_be_meant_is_told(tmp_path: Path, key: str, value: str, told: str):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, f"mcp_servers:\n  files:\n    command: npx\n    {key}: {value}\n")

    assert len(caught.value.problems) == 1
    assert told in caught.value.problems[0]


@pytest.mark.parametrize(
    "word",
    [
        {"permissions": ["read"]},
        {"raises": ["read"]},
        {"raises": {"read": DataSensitivity.PUBLIC}},
        {"trust": "labels"},
        {"trust": frozenset({"label"})},
        {"vouched": DataSensitivity.INTERNAL},
        {"vouched": "secret"},
        {"ask": "delete"},
        {"twin": "soon"},
    ],
)
def test_a_config_made_in_code_is_checked_alike(word: dict[str, Any]):
    with pytest.raises(ConfigError):
        server(**word)


def test_a_server_with_a_twin_is_not_vouched_for():
    with pytest.raises(ConfigError, match="keep one of the two"):
        server(vouched=DataSensitivity.SECRET, isolated=UnixSocketTransport("unix:///run/files.sock"))
