"""The table of keys is complete, and its defaults are those of the loader and of the model."""

from dataclasses import fields
from operator import attrgetter
from pathlib import Path
from types import SimpleNamespace

import pytest

from bascule.config import load_file
from bascule.config.loading.key_table import (
    KIT_SERVER_KEYS,
    SERVER_KEYS,
    TOP_KEYS,
    Kind,
    below,
    siblings,
)
from bascule.config.loading.load import _FIELDS
from bascule.config.loading.value_parsers import _READERS
from bascule.config.model.kit_server import KitServer
from bascule.config.model.link_settings import Heartbeat, Limits, Restart
from bascule.config.model.result_presets import preset_map
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig, Timeouts
from bascule.config.model.sandbox import Sandbox
from bascule.config.model.transport import StdioTransport, StreamableHttpTransport
from bascule.core.errors import ConfigError

TABLES = {"heartbeat": Heartbeat, "restart": Restart, "limits": Limits}
NOW = {
    "command",
    "args",
    "cwd",
    "env",
    "inherit_env",
    "url",
    "transport",
    "headers",
    "oauth.client_id",
    "oauth.client_secret",
    "oauth.scopes",
    "container",
    "era",
    "required",
    "prefix",
    "tools.allow",
    "tools.block",
    "render",
    "limit",
    *(f"timeouts.{field.name}" for field in fields(Timeouts)),
    "headers_command",
    "idempotent",
    "lifetime",
    "stateless",
    *("kit", *KIT_SERVER_KEYS),
    *("sandbox", *(f"sandbox.{field.name}" for field in fields(Sandbox))),
    *("permissions", "trust", "ask", "raises", "vouched", "url_isolated", "command_isolated", "twin"),
    *(f"{table}.{field.name}" for table, model in TABLES.items() for field in fields(model)),
}


def test_every_key_of_a_server_is_in_the_table():
    assert {name for name, key in SERVER_KEYS.items() if key.available} == NOW
    assert all(key.available for key in SERVER_KEYS.values())


def test_these_keys_are_of_servers_that_are_started_here():
    auth = ("auth.keys", "auth.issuer", "auth.audience", "auth.claims.user", "auth.claims.session")

    assert [*KIT_SERVER_KEYS] == ["type", "target", "instructions", "port", *auth]
    assert {f"gateway.{name}" for name in auth} <= TOP_KEYS.keys()


def test_these_keys_beside_the_servers_are_available():
    available = {name for name, key in TOP_KEYS.items() if key.available}
    assert available == {
        *("links.max", "links.starting", "messages.max", "store", "catalog.screen", "catalog.lock"),
        *("workspace.root", "workspace.quota", "audit.arguments", "audit.anchor_every"),
        *("results.presets", "egress.allow", "egress.ports", "gateway.host", "gateway.port", "gateway.workers"),
        *(f"gateway.auth.{name}" for name in ("keys", "issuer", "audience", "claims.user", "claims.session")),
        *("results.presets", "egress.allow", "egress.ports", "catalog.search_above"),
        *("telemetry.otlp", "telemetry.prometheus", "dashboard.enabled", "dashboard.token"),
    }


def test_the_tables_beside_the_servers_are_all_there():
    assert siblings(TOP_KEYS, "") == {
        *("egress", "links", "messages", "catalog", "results", "workspace", "store", "audit", "gateway", "telemetry"),
        "dashboard",
    }


SERVERS = """
mcp_servers:
  local: {command: program}
  boxed: {command: program, sandbox: {}}
  remote: {url: "https://host"}
  own: {type: server, target: server.py}
"""
"""Servers with no key but those that each kind must have."""


@pytest.fixture
def loaded(tmp_path: Path) -> RuntimeConfig:
    file = tmp_path / "bascule.yaml"
    file.write_text(SERVERS)
    return load_file(file, {})


def test_a_config_without_optional_keys_is_a_model_without_optional_fields(loaded: RuntimeConfig):
    local = StdioTransport("program")
    servers = (
        ServerConfig("local", local),
        ServerConfig("boxed", local, sandbox=Sandbox()),
        ServerConfig("remote", StreamableHttpTransport("https://host")),
    )
    own = KitServer("own", "server.py")

    assert loaded == RuntimeConfig({each.name: each for each in servers}, kit_servers={"own": own}, path=loaded.path)


SERVER_FIELDS = {
    **{name: f"local.transport.{name}" for name in ("args", "cwd", "env", "inherit_env")},
    "transport": "remote.transport.choice",
    "headers": "remote.transport.headers",
    "tools.allow": "local.allow",
    "tools.block": "local.block",
    "url_isolated": "local.isolated",
    "command_isolated": "local.isolated",
    **{name: f"boxed.{name}" for name in SERVER_KEYS if name.startswith("sandbox.")},
    **{name: f"own.{name}" for name in KIT_SERVER_KEYS},
}
"""Fields of the model by key, if that is not the field `key` of the server `local`."""

WITHOUT_DEFAULT = ("command", "url", "container", "type", "target")
"""Keys that make a server one of its kind."""


def test_the_documented_default_of_a_key_of_a_server_is_the_value_that_it_has_if_it_is_left_out(loaded: RuntimeConfig):
    documented = {name: key.default for name, key in SERVER_KEYS.items()}
    assert {documented.pop(name) for name in WITHOUT_DEFAULT} == {None}
    assert frozenset(documented.pop("trust")) == loaded.servers["local"].trust

    servers = SimpleNamespace(**loaded.servers, **loaded.kit_servers)
    assert documented == {name: attrgetter(SERVER_FIELDS.get(name, f"local.{name}"))(servers) for name in documented}


def test_the_documented_default_of_another_key_is_the_value_that_it_has_if_it_is_left_out(loaded: RuntimeConfig):
    documented = {name: key.default for name, key in TOP_KEYS.items()}
    # Presets of a config are added to those that are always there.
    assert preset_map(documented.pop("results.presets")) == loaded.presets
    # The word of the file for a token that is made once.
    assert (documented.pop("dashboard.token"), loaded.dashboard.token) == ("auto", None)

    assert documented == {name: attrgetter(_FIELDS.get(name, name))(loaded) for name in documented}


def test_every_available_key_can_be_read():
    kinds = {key.kind for key in (*SERVER_KEYS.values(), *TOP_KEYS.values()) if key.available}

    assert kinds <= _READERS.keys()
    assert Kind.OTHER not in kinds


def test_a_choice_has_words_and_its_default_is_one_of_them():
    choices = [key for key in (*SERVER_KEYS.values(), *TOP_KEYS.values()) if key.kind is Kind.CHOICE]

    assert all(key.choices and key.default in {None, *key.choices} for key in choices)


def test_one_key_alone_is_both_a_word_and_a_table():
    assert [name for name in SERVER_KEYS if below(SERVER_KEYS, name)] == ["sandbox"]
    assert SERVER_KEYS["sandbox"].choices == ("none",)
    assert not [name for name in TOP_KEYS if below(TOP_KEYS, name)]


def test_what_may_be_written_at_a_place_is_known():
    assert siblings(SERVER_KEYS, "tools.") == {"allow", "block"}
    assert {key.name for key in below(TOP_KEYS, "links")} == {"links.max", "links.starting"}


@pytest.mark.parametrize(("written", "meant"), [("", "flag"), ("catalog: {screen: refuse}\n", "refuse")])
def test_what_becomes_of_findings_is_the_operators_choice(tmp_path: Path, written: str, meant: str):
    file = tmp_path / "bascule.yaml"
    file.write_text(f"mcp_servers: {{}}\n{written}")

    assert load_file(file, {}).screen == meant


def test_a_word_that_is_no_choice_is_told(tmp_path: Path):
    file = tmp_path / "bascule.yaml"
    file.write_text("mcp_servers: {}\ncatalog: {screen: refus}\n")

    with pytest.raises(ConfigError, match=r"catalog\.screen.*refuse"):
        load_file(file, {})


def test_every_key_has_a_sentence():
    meanings = [key.meaning for key in (*SERVER_KEYS.values(), *TOP_KEYS.values())]

    assert all(text.endswith((".", "…")) and len(text) < 120 for text in meanings)
