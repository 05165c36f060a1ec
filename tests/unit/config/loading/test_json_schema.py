"""The schema says what the program says."""

from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

from bascule.config.loading.json_schema import config_schema, written
from bascule.config.loading.load import load_file
from bascule.core.errors import ConfigError

ROOT = Path(__file__).parents[4]
VALID = jsonschema_rs.validator_for(config_schema())
EXAMPLES = sorted(ROOT.glob("examples/**/bascule.yaml"))


def test_the_file_that_is_shipped_is_the_one_that_is_made():
    shipped = (ROOT / "docs/bascule.schema.json").read_text(encoding="utf-8")
    assert shipped == written(), "write it anew: bascule.config.loading.json_schema.written()"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_the_examples_fit(path: Path):
    assert not [error.message for error in VALID.iter_errors(yaml.safe_load(path.read_text(encoding="utf-8")))]


GOOD: list[dict[str, Any]] = [
    {"mcp_servers": {}},
    {"mcp_servers": {"a": {"command": "x", "args": ["-y"], "timeouts": {"call": 5}, "sandbox": "none"}}},
    {"mcp_servers": {"a": {"command": "x", "sandbox": {"memory": "512MiB", "pids": 64}, "ask": ["b"]}}},
    {"mcp_servers": {"a": {"url": "https://h/mcp", "permissions": {"x": "read", "y": ["read", "connect"]}}}},
    {"mcp_servers": {}, "messages": {"max": "8MiB"}, "links": {"max": 5}, "telemetry": {"prometheus": None}},
    {"mcp_servers": {}, "dashboard": {"enabled": False, "token": "auto"}},
]

BAD: list[dict[str, Any]] = [
    {},
    {"mcp_server": {}},
    {"mcp_servers": {"A": {"command": "x"}}},
    {"mcp_servers": {"a": {"comand": "x"}}},
    {"mcp_servers": {"a": {"command": ["x"]}}},
    {"mcp_servers": {"a": {"command": "x", "timeouts": {"call": 0}}}},
    {"mcp_servers": {"a": {"command": "x", "timeouts": {"cal": 5}}}},
    {"mcp_servers": {"a": {"command": "x", "era": "newest"}}},
    {"mcp_servers": {"a": {"command": "x", "sandbox": "some"}}},
    {"mcp_servers": {"a": {"command": "x", "required": "yes"}}},
    {"mcp_servers": {}, "messages": {"max": "8 megabytes"}},
    {"mcp_servers": {}, "links": {"max": 1.5}},
    {"mcp_servers": {}, "dashboard": {"enabled": "maybe"}},
]


@pytest.mark.parametrize(("config", "fits"), [*((each, True) for each in GOOD), *((each, False) for each in BAD)])
def test_what_the_program_takes_fits_and_what_it_refuses_does_not(tmp_path: Path, config: dict[str, Any], fits: bool):
    path = tmp_path / "bascule.yaml"
    path.write_text(yaml.safe_dump(config))
    try:
        load_file(path, {})
        taken = True
    except ConfigError:
        taken = False
    assert (taken, VALID.is_valid(config)) == (fits, fits)


def test_a_value_of_the_environment_fits_everywhere():
    server = {"command": "${X}", "timeouts": {"call": "${N}"}, "required": "${R:-true}", "sandbox": {"memory": "${M}"}}
    assert VALID.is_valid({"mcp_servers": {"a": server}, "links": {"max": "${L}"}})
