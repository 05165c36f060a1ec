"""Presets: those that are there, and what may be said of others."""

import re
from pathlib import Path
from typing import Any

import pytest

from bascule.config import PRESETS, Preset, RuntimeConfig, ServerConfig, StdioTransport, load_file
from bascule.config.diff import difference
from bascule.config.model.result_presets import CHARACTERS_LEAST, limit_flaws, preset_flaws, preset_map, presets_flaws
from bascule.core.errors import ConfigError

SERVER = "mcp_servers: {a: {command: a, limit: LIMIT}}\n"


def load(folder: Path, text: str, environ: dict[str, str] | None = None) -> RuntimeConfig:
    path = folder / "bascule.yaml"
    path.write_text(text)
    return load_file(path, environ or {})


def test_three_are_always_there():
    default = PRESETS["default"]
    assert list(PRESETS) == ["default", "sql_query", "log_search"]
    assert (default.characters, default.keys) == (5000, 20)
    assert (default.head_rows, default.tail_rows, default.head_lines, default.tail_lines) == (20, 10, 50, 20)
    assert (default.head_items, default.tail_items) == (10, 5)
    assert PRESETS["sql_query"] == Preset(characters=2000, head_rows=30, tail_rows=10)
    assert PRESETS["log_search"] == Preset(characters=10_000)


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({"characters": CHARACTERS_LEAST - 1}, ("characters",)),
        ({"characters": 10**9}, ("characters",)),
        ({"characters": True}, ("characters",)),
        ({"characters": "5000"}, ("characters",)),
        ({"head_rows": -1}, ("head_rows",)),
        ({"head_rows": 1.5}, ("head_rows",)),
        ({"keys": 0}, ("keys",)),
        ({"rows": 3}, ("rows",)),
        (7, ()),
    ],
)
def test_a_number_that_makes_no_preview_is_told_with_its_place(given: Any, path: tuple[str, ...]):
    assert [flaw.path for flaw in preset_flaws(given)] == [path]


def test_no_tail_is_fine():
    assert not list(preset_flaws({"tail_rows": 0, "head_lines": 0}))
    with pytest.raises(ConfigError, match="characters"):
        Preset(characters=3)


@pytest.mark.parametrize("given", [7, {"Big One": {}}, {3: {}}, {"big": 3}])
def test_presets_are_mappings_by_name(given: Any):
    assert len(list(presets_flaws(given))) == 1


def test_one_of_an_operator_takes_the_place_of_ours():
    presets = preset_map({"default": {"characters": 1234}, "big": {"keys": 3}})
    assert presets["default"].characters == 1234
    assert presets["big"] == Preset(keys=3)
    assert presets["sql_query"] == PRESETS["sql_query"]


def test_an_unknown_name_is_told_with_those_that_are_known():
    (flaw,) = limit_flaws("sql-query", PRESETS)
    assert "default, sql_query, log_search" in flaw.text
    assert 'did you mean "sql_query"' in flaw.text
    assert not list(limit_flaws(None, PRESETS))


def test_a_server_is_limited_by_a_preset_of_the_file(tmp_path: Path):
    text = SERVER.replace("LIMIT", "big") + "results: {presets: {big: {characters: '${SIZE}', keys: 3}}}\n"
    config = load(tmp_path, text, {"SIZE": "20000"})
    assert config.servers["a"].limit == Preset(characters=20_000, keys=3)
    assert list(config.presets) == ["default", "sql_query", "log_search", "big"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (SERVER.replace("LIMIT", "huge"), r"bascule.yaml:1: mcp_servers.a.limit: must be the name of a preset: one of"),
        (
            "mcp_servers: {a: {command: a}}\nresults: {presets: {big: {rows: 3}}}\n",
            r"results.presets.big.rows: unknown",
        ),
        (
            "mcp_servers: {a: {command: a}}\nresults: {presets: {big: {keys: 0}}}\n",
            r"results.presets.big.keys: must be",
        ),
        ("mcp_servers: {a: {command: a}}\nresults: {presets: {big: 3}}\n", r"results.presets: must be a mapping of"),
        ("mcp_servers: {a: {command: a}}\nresults: {presets: [big]}\n", r"results.presets: must be a mapping of"),
        ("mcp_servers: {a: {command: a}}\nresults: {limit: 3}\n", r"results.limit: unknown key"),
    ],
)
def test_a_flaw_in_a_file_is_told_with_its_place(tmp_path: Path, text: str, told: str):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert len(caught.value.problems) == 1
    assert re.search(told, caught.value.problems[0])


def test_who_names_a_flawed_preset_is_not_blamed_too(tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, SERVER.replace("LIMIT", "big") + "results: {presets: {big: {keys: 0}}}\n")
    assert len(caught.value.problems) == 1


def test_a_config_by_hand_takes_presets_themselves():
    server = ServerConfig("a", StdioTransport("a"), limit=Preset(keys=3))
    assert RuntimeConfig({"a": server}).presets == PRESETS
    with pytest.raises(ConfigError, match="limit"):
        ServerConfig("a", StdioTransport("a"), limit="default")  # pyright: ignore[reportArgumentType]
    with pytest.raises(ConfigError, match="presets"):
        RuntimeConfig({}, presets={"x": 3})  # pyright: ignore[reportArgumentType]


def test_a_changed_preset_retunes_the_servers_that_it_limits(tmp_path: Path):
    text = "mcp_servers: {a: {command: a, limit: big}, b: {command: b}}\nresults: {presets: {big: {keys: NUMBER}}}\n"
    before = load(tmp_path, text.replace("NUMBER", "3"))
    diff = difference(before, load(tmp_path, text.replace("NUMBER", "4")))
    assert (diff.retuned, diff.untouched, diff.settings) == (("a",), ("b",), ())
