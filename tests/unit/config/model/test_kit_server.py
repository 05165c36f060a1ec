"""A server of our own kit, as a value."""

import json
from pathlib import Path
from typing import Any

import pytest

from bascule.config.loading.load import load_file
from bascule.config.model.auth import AuthSettings
from bascule.config.model.kit_server import KitServer
from bascule.core.errors import ConfigError


def test_most_has_a_default():
    server = KitServer("records", "server.py")

    assert (server.port, server.instructions, server.auth) == (8000, None, AuthSettings())


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"name": "Records"}, "name: must be"),
        ({"target": ""}, "target: must name"),
        ({"target": "a\0b"}, "target: must name"),
        ({"target": None}, "target: must name"),
        ({"port": 0}, "port: must be"),
        ({"port": 65536}, "port: must be"),
        ({"port": True}, "port: must be"),
        ({"port": "8000"}, "port: must be"),
    ],
)
def test_what_is_wrong_is_told(fields: dict[str, Any], told: str):
    given: dict[str, Any] = {"name": "records", "target": "server.py", **fields}
    with pytest.raises(ConfigError, match=told):
        KitServer(**given)


def test_one_that_cannot_be_started_needs_no_target():
    assert KitServer("records", "", unavailable_reason=ConfigError("why")).target == ""


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"lifetime": "shared", "stateless": True}, "nobody could tell the server who asks"),
        ({"headers": {"authorization": "Bearer abc"}}, "shown a token of ours"),
    ],
)
def test_what_would_hide_who_asks_does_not_go_with_a_server_of_our_kit(
    tmp_path: Path, more: dict[str, object], told: str
):
    entry = {"url": "https://records.example/mcp", "kit": True, **more}
    (tmp_path / "bascule.yaml").write_text(json.dumps({"mcp_servers": {"records": entry}}))

    with pytest.raises(ConfigError) as caught:
        load_file(tmp_path / "bascule.yaml", {})
    assert told in caught.value.problems[0]
    load_file(_without_kit(tmp_path, entry), {})


def _without_kit(folder: Path, entry: dict[str, object]) -> Path:
    path = folder / "other.yaml"
    path.write_text(json.dumps({"mcp_servers": {"records": {**entry, "kit": False}}}))
    return path
