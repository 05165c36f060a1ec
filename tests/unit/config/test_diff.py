"""What an edit asks for, server by server."""

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from bascule.config import (
    PRESETS,
    Heartbeat,
    Limits,
    OAuthSettings,
    Restart,
    RuntimeConfig,
    Secret,
    ServerConfig,
    StdioTransport,
    Timeouts,
)
from bascule.config.diff import RETUNED, SETTINGS, ConfigDiff, difference
from bascule.config.loading.load import load_file
from bascule.config.model.gateway import DashboardSettings, GatewaySettings
from bascule.config.model.kit_server import KitServer
from bascule.config.model.telemetry import TelemetrySettings
from bascule.config.model.transport import NoTransport, StreamableHttpTransport, UnixSocketTransport
from bascule.core.errors import ConfigError
from bascule.core.sensitivity import DataSensitivity

NPX = StdioTransport("npx", args=("-y", "files"), env={"TOKEN": "first-token"})
FILES = ServerConfig("files", NPX, location="bascule.yaml:2")


def config(*servers: ServerConfig, **settings: Any) -> RuntimeConfig:
    return RuntimeConfig(servers={server.name: server for server in servers}, **settings)


def edit(**fields: Any) -> ConfigDiff:
    return difference(config(FILES), config(replace(FILES, **fields)))


def test_nothing_changed():
    diff = difference(config(FILES), config(replace(FILES, location="bascule.yaml:9", notes=("a note",))))

    assert diff == ConfigDiff(untouched=("files",))
    assert not diff


def test_servers_come_and_go():
    other = replace(FILES, name="mail")
    diff = difference(config(FILES), config(other))

    assert diff == ConfigDiff(added=("mail",), removed=("files",))
    assert diff


def test_servers_that_are_started_here_are_none_of_a_runtimes_business():
    started = {"records": KitServer("records", "server.py")}

    assert difference(config(FILES), config(FILES, kit_servers=started)) == ConfigDiff(untouched=("files",))


CHANGES: dict[str, Any] = {
    "permissions": {"read": "read"},
    "trust": frozenset({"labels"}),
    "ask": ("write",),
    "raises": {"read": "secret"},
    "vouched": DataSensitivity.SECRET,
    "isolated": UnixSocketTransport("unix:///run/files.sock"),
    "twin": "eager",
    "sandbox": "none",
    "kit": True,
    "transport": replace(NPX, args=("-y", "other")),
    "prefix": "f",
    "allow": ("read",),
    "block": ("write",),
    "render": "json",
    "limit": PRESETS["default"],
    "timeouts": Timeouts(call=7),
    "era": "old",
    "required": True,
    "oauth": OAuthSettings(client_id="us"),
    "idempotent": ("read",),
    "lifetime": "call",
    "stateless": True,
    "heartbeat": Heartbeat(interval=7),
    "restart": Restart(attempts=7),
    "limits": Limits(concurrent=7),
}


def test_every_field_that_counts_is_looked_at():
    assert CHANGES.keys() == {field.name for field in fields(ServerConfig) if field.compare} - {
        "name",
        "headers_command",
    }


def test_a_remote_server_begins_anew_where_another_program_prints_its_headers():
    old, new = (
        ServerConfig("files", StreamableHttpTransport("https://a.test/mcp"), headers_command=(program,))
        for program in ("one", "other")
    )
    diff = difference(RuntimeConfig({"files": old}), RuntimeConfig({"files": new}))

    assert diff.restarted == ("files",)


@pytest.mark.parametrize("field", CHANGES)
def test_a_server_begins_anew_only_where_it_is_reached_in_another_way(field: str):
    diff = edit(**{field: CHANGES[field]})

    assert (diff.retuned if field in RETUNED else diff.restarted) == ("files",)
    assert diff.untouched == ()
    assert diff.relisted == (("files",) if field in {"prefix", "allow", "block", "permissions", "trust"} else ())


def test_a_server_that_is_also_reached_in_another_way_begins_anew():
    diff = edit(prefix="f", era="old")

    assert (diff.restarted, diff.retuned, diff.relisted) == (("files",), (), ())


def test_secrets_count_by_what_they_reveal():
    assert not edit(transport=replace(NPX, env={"TOKEN": Secret("first-token")}))
    assert edit(transport=replace(NPX, env={"TOKEN": "other-token"})).restarted == ("files",)


def test_a_variable_that_changed_is_a_change_of_the_server_that_names_it(tmp_path: Path):
    path = tmp_path / "bascule.yaml"
    path.write_text("mcp_servers: {a: {command: x, env: {T: '${T}'}}, b: {command: x}}")
    before, after, unset = (load_file(path, environ) for environ in ({"T": "one-of-them"}, {"T": "the-other"}, {}))

    assert difference(before, after) == ConfigDiff(restarted=("a",), untouched=("b",))
    assert difference(after, unset).restarted == ("a",)
    assert difference(unset, before).restarted == ("a",)


def refused(reason: str) -> ServerConfig:
    error = ConfigError(f"server files cannot be used: {reason}", problems=(reason,))
    return ServerConfig("files", NoTransport("stdio"), unavailable_reason=error)


def test_why_a_server_cannot_be_used_counts_but_not_its_line():
    here, there = (refused(f"bascule.yaml:{line}: env.T: T is not set") for line in (3, 9))

    assert not difference(config(here), config(there))
    assert difference(config(here), config(refused("bascule.yaml:3: env.U: U is not set"))).restarted == ("files",)


SETTING_CHANGES = {
    "lock": "off",
    "links_max": 7,
    "links_starting": 3,
    "message_max": 4096,
    "store": "other.db",
    "screen": "refuse",
    "workspace_root": "/srv/files",
    "workspace_quota": 4096,
    "audit_arguments": "full",
    "anchor_every": 5,
    "gateway": GatewaySettings(port=1),
    "telemetry": TelemetrySettings(prometheus="127.0.0.1:9464"),
    "dashboard": DashboardSettings(enabled=False),
    "search_above": 40,
}


def test_every_setting_is_looked_at():
    apart = {"servers", "kit_servers", "path", "notes", "presets", "egress"}
    beside = {field.name for field in fields(RuntimeConfig)} - apart

    assert SETTING_CHANGES.keys() == SETTINGS.keys() == beside


@pytest.mark.parametrize("setting", SETTING_CHANGES)
def test_a_setting_beside_the_servers_is_told_and_is_no_change_of_a_server(setting: str):
    diff = difference(config(FILES), config(FILES, **{setting: SETTING_CHANGES[setting]}))

    assert diff == ConfigDiff(untouched=("files",), settings=(SETTINGS[setting],))
    assert not diff
