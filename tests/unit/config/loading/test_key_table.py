"""Key table: complete, described, and in agreement with the model."""

from dataclasses import fields
from pathlib import Path

import pytest

from bascule.config import load_file
from bascule.config.loading.key_table import (
    KIT_SERVER_KEYS,
    SERVER_KEYS,
    SERVER_WORDS,
    TOP_KEYS,
    TOP_WORDS,
    Kind,
    below,
    siblings,
)
from bascule.config.loading.value_parsers import _READERS
from bascule.config.model.kit_server import KitServer
from bascule.config.model.link_settings import Heartbeat, Limits, Restart
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


def test_the_defaults_of_a_server_that_is_started_here_are_those_of_the_model():
    server = KitServer("a", "server.py")

    assert SERVER_KEYS["port"].default == server.port
    assert SERVER_KEYS["auth.keys"].default == server.auth.keys
    assert SERVER_KEYS["auth.claims.user"].default == server.auth.claims.user
    assert SERVER_KEYS["auth.claims.session"].default == server.auth.claims.session


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


def test_the_defaults_of_tables_are_those_of_the_model():
    for table, model in {"timeouts": Timeouts, "sandbox": Sandbox, **TABLES}.items():
        for field in fields(model):
            assert SERVER_KEYS[f"{table}.{field.name}"].default == field.default


def test_the_defaults_of_a_server_are_those_of_the_model():
    server = ServerConfig("a", StdioTransport("a"))
    model = {"era": server.era, "required": server.required, "prefix": server.prefix, "render": server.render}
    model |= {"tools.allow": server.allow, "tools.block": server.block}
    model |= {
        "idempotent": server.idempotent,
        "lifetime": server.lifetime,
        "stateless": server.stateless,
        "kit": server.kit,
    }
    model |= {"transport": StreamableHttpTransport("https://a.test").choice}

    assert {name: SERVER_KEYS[name].default for name in model} == model


def test_the_defaults_beside_the_servers_are_those_of_the_model():
    runtime = RuntimeConfig({})

    assert TOP_KEYS["links.max"].default == runtime.links_max
    assert TOP_KEYS["links.starting"].default == runtime.links_starting
    assert TOP_KEYS["messages.max"].default == runtime.message_max
    assert TOP_KEYS["store"].default == runtime.store
    assert TOP_KEYS["workspace.root"].default == runtime.workspace_root
    assert TOP_KEYS["workspace.quota"].default == runtime.workspace_quota
    assert TOP_KEYS["audit.arguments"].default == runtime.audit_arguments
    assert TOP_KEYS["audit.anchor_every"].default == runtime.anchor_every


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


def test_every_key_that_can_be_used_is_described():
    for keys, words in ((SERVER_KEYS, SERVER_WORDS), (TOP_KEYS, TOP_WORDS)):
        assert [*words] == [name for name, key in keys.items() if key.available]
        assert all(text.endswith((".", "…")) and len(text) < 120 for text in words.values())
