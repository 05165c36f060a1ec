"""The model of a server and of a runtime, built by hand."""

from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any, cast

import pytest

from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig, Timeouts
from bascule.config.model.transport import NoTransport, StdioTransport
from bascule.core.errors import ConfigError

STDIO = StdioTransport(command="npx", args=("-y", "x"))


def server(**fields: Any) -> ServerConfig:
    given: dict[str, Any] = {"name": "files", "transport": STDIO} | fields
    return ServerConfig(**given)


def test_a_server_needs_a_name_and_a_transport():
    config = ServerConfig(name="files", transport=STDIO)

    assert config.allow is None
    assert config.block == ()
    assert config.render == "yaml"
    assert config.era == "auto"
    assert config.required is False
    assert config.unavailable_reason is None
    assert config.timeouts == Timeouts(connect=60, reconnect=15, probe=3, list=15, call=30, close=5)


def test_the_prefix_is_the_name_unless_given():
    assert server().tool_prefix == "files"
    assert server(prefix="").tool_prefix == ""
    assert server(prefix="fs").tool_prefix == "fs"


@pytest.mark.parametrize("name", ["", "Files", "1files", "my files", "a" * 33, "files\n", 5])
def test_a_name_that_is_not_ours_is_refused(name: Any):
    with pytest.raises(ConfigError, match="name"):
        server(name=name)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prefix", "a b"),
        ("allow", "read_file"),
        ("block", "read_file"),
        ("render", "xml"),
        ("era", "older"),
        ("transport", "npx"),
    ],
)
def test_a_wrong_field_is_named(field: str, value: Any):
    with pytest.raises(ConfigError, match=f"{field}:"):
        server(**{field: value})


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(ConfigError) as caught:
        server(name="A", prefix="a b", era="older")
    assert len(caught.value.problems) == 3


def test_lists_become_tuples():
    config = server(allow=["a"], block=["b"])

    assert (config.allow, config.block) == (("a",), ("b",))


def test_an_empty_allow_list_is_not_the_same_as_none():
    assert server(allow=()).allow == ()


def test_a_server_cannot_be_changed():
    with pytest.raises(FrozenInstanceError):
        server().name = "other"  # pyright: ignore[reportAttributeAccessIssue]


def test_a_server_that_moved_in_its_file_is_the_same_server():
    assert server(location="a:1", notes=("x",)) == server(location="a:2")
    assert server() != server(required=True)


def test_a_server_without_a_transport_must_say_why():
    with pytest.raises(ConfigError, match="unavailable_reason"):
        server(transport=NoTransport("stdio"))
    assert server(transport=NoTransport("stdio"), unavailable_reason=ConfigError("x")).unavailable_reason is not None


@pytest.mark.parametrize("value", [0, -1, float("inf"), float("nan"), True, "5"])
def test_a_timeout_must_be_finite_and_above_zero(value: Any):
    with pytest.raises(ConfigError, match="call"):
        Timeouts(call=value)


def test_a_runtime_has_its_defaults():
    config = RuntimeConfig(servers={"files": server()})

    assert (config.links_starting, config.message_max, config.store, config.path) == (8, 8 * 1024**2, None, None)
    assert config.screen == "flag"


def test_the_servers_of_a_runtime_cannot_be_replaced():
    servers = {"files": server()}
    config = RuntimeConfig(servers=servers, path=Path("x"))
    servers.clear()

    assert list(config.servers) == ["files"]
    with pytest.raises(TypeError):
        cast("Any", config.servers)["b"] = server()


def test_a_server_stands_under_its_own_name():
    with pytest.raises(ConfigError, match="another name"):
        RuntimeConfig(servers={"other": server()})


@pytest.mark.parametrize(
    ("field", "value"), [("links_starting", 0), ("message_max", 1), ("store", "postgresql://x"), ("screen", "maybe")]
)
def test_settings_out_of_bounds_are_refused(field: str, value: Any):
    with pytest.raises(ConfigError, match=field):
        replace(RuntimeConfig(servers={}), **{field: value})


def test_the_password_of_a_database_is_not_shown():
    config = RuntimeConfig(servers={}, store="postgresql://me:hunter2@db/x")

    assert "hunter2" not in f"{config} {config!r}"
