"""A server of our own kit, as a value."""

from typing import Any

import pytest

from bascule.config.auth import AuthSettings
from bascule.config.kit_server import KitServer
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
