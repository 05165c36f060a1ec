"""`bascule list`: servers and tools, resources and prompts, token costs."""

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from bascule.catalog.resources import Library, ServerOffers
from bascule.catalog.search.meta_tools import search_pair
from bascule.cli.commands.list import (
    add_costs,
    add_offers,
    as_shape,
    cost_lines,
    cost_of,
    estimated_tokens,
    tokens_of,
    tokens_of_all,
    wanted,
)
from bascule.cli.json_output.listings import ListShape
from bascule.cli.main import main
from bascule.cli.parser.command_table import build_parser
from bascule.core.errors import ConnectFailed
from bascule.core.permission import Permission
from bascule.core.resource import ResourceSpec
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus
from bascule.runtime.servers.status import ServerReport
from bascule.upstream.settings import Agreement
from bascule.upstream.state import LinkState
from support.command import bascule, configured, entry
from support.offers import command_of, offering
from support.runtime import a_tool

ME = ("--user", "alice", "--session", "s-1")
FAILING = ("failing", 3, "no [bold]API[/bold] key")


def a_spec(name: str, status: ToolStatus = ToolStatus.EXPOSED, **fields: Any) -> ToolSpec:
    return ToolSpec(f"work_{name}", ToolKey("work", name), "digest", status=status, **fields)


def listed(capsys: pytest.CaptureFixture[str], config: str, *flags: str) -> tuple[int, str]:
    code = main(["list", "--config", config, *ME, *flags])
    return code, capsys.readouterr().out


# For people


def test_each_server_is_shown_with_its_tools(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tools = [
        a_tool("zap", description="[red]Zaps[/red].\nThen rests."),
        a_tool("act"),
        a_tool("odd", {"type": "array"}),
    ]
    work = entry("obeying", tmp_path / "log", json.dumps(tools))
    code, shown = listed(capsys, configured(tmp_path, work=work, echo=entry("echo")))

    assert code == 0
    lines = [line.split() for line in shown.splitlines()]
    head = next(line for line in lines if line[:1] == ["work"])
    assert head[1:5] == ["ready", "2", "tools", "2026-07-28"]
    names = [line[0] for line in lines if line and line[0].startswith("work_")]
    assert names == ["work_act", "work_odd", "work_zap"]
    assert "[red]Zaps[/red]." in shown
    assert "Then rests" not in shown
    assert "unusable: its input schema is for 'array'" in shown
    assert "Gives back what it is given." in shown
    assert "3 tools on 2 of 2 servers" in shown


def test_a_server_that_fails_is_shown_with_its_error_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    code, shown = listed(capsys, configured(tmp_path, bad=entry(*FAILING), echo=entry("echo")))

    assert code == 0
    assert "BSC-401  the server exited with code 3" in shown
    assert "evidence: no [bold]API[/bold] key" in shown
    assert "echo_echo" in shown
    assert "1 tool on 1 of 2 servers" in shown


def test_only_the_servers_that_are_named_are_started(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = configured(tmp_path, work=entry("obeying", tmp_path / "log"), echo=entry("echo"))
    code, shown = listed(capsys, config, "echo")

    assert (code, (tmp_path / "log").exists()) == (0, False)
    assert "echo_echo" in shown
    assert "1 tool on 1 of 1 server\n" in shown
    assert main(["list", "wrok", "--config", config, *ME]) == 2
    assert 'did you mean "work"' in capsys.readouterr().err


def test_a_server_with_some_bad_tools_is_shown_with_the_reason(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    tools = json.dumps([a_tool("act"), {"inputSchema": {}}])
    _, shown = listed(capsys, configured(tmp_path, work=entry("obeying", tmp_path / "log", tools)))

    assert "degraded" in shown
    assert "1 of its tools cannot be used: tool 2: it has no name" in shown


def test_notes_of_a_server_are_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    file = tmp_path / ".mcp.json"
    file.write_text(json.dumps({"mcpServers": {"Echo One": entry("echo")}}))
    _, shown = listed(capsys, str(file))

    assert "note: " in shown
    assert "echo-one" in shown


@pytest.mark.parametrize("flags", [(), ("--json",)], ids=["people", "programs"])
def test_a_required_server_that_fails_makes_the_code_3(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...]
):
    config = configured(tmp_path, bad=entry(*FAILING, required=True), echo=entry("echo"))
    code, shown = listed(capsys, config, *flags)

    assert code == 3
    assert "echo_echo" in shown


async def test_the_command_itself_lists(tmp_path: Path):
    configured(tmp_path, echo=entry("echo"))
    ran = await bascule(tmp_path, "list")

    assert (ran.code, "echo_echo" in ran.out) == (0, True), ran.err
    assert "acting as user" in ran.err


# For programs


def test_the_listing_has_its_documented_shape(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    config = configured(tmp_path, bad=entry(*FAILING), echo=entry("echo", tools={"block": ["none"]}))
    code, shown = listed(capsys, config, "--json")
    shape = json.loads(shown)

    assert code == 0
    bad, echo = shape["servers"]
    assert (bad["name"], bad["state"], bad["tools"], bad["era"]) == ("bad", "failed", 0, None)
    assert bad["error"]["code"] == "BSC-401"
    assert (echo["name"], echo["transport"], echo["state"]) == ("echo", "stdio", "ready")
    assert (echo["era"], echo["tools"], echo["error"]) == ("2026-07-28", 1, None)
    (tool,) = shape["tools"]
    assert (tool["name"], tool["server"], tool["tool"], tool["status"]) == ("echo_echo", "echo", "echo", "exposed")
    assert tool["permissions"] == ["connect", "write"]
    assert tool["description"] == "Gives back what it is given."
    assert tool["digest"]


def test_a_shape_has_exactly_the_documented_keys():
    error = ConnectFailed("gone", evidence="exit 3", fix="mend it")
    agreed = Agreement("2026-07-28", {}, {}, "")
    reports = [
        ServerReport("work", "stdio", LinkState.READY, agreement=agreed, tools=1, seconds=0.01234),
        ServerReport("bad", "http", LinkState.FAILED, error=error),
    ]
    spec = a_spec("act", description="Acts.", permissions=frozenset({Permission.READ}))

    assert as_shape(reports, [spec]) == {
        "servers": [
            {
                "name": "work",
                "transport": "stdio",
                "state": "ready",
                "era": "2026-07-28",
                "tools": 1,
                "ms": 12.3,
                "error": None,
            },
            {
                "name": "bad",
                "transport": "http",
                "state": "failed",
                "era": None,
                "tools": 0,
                "ms": 0.0,
                "error": {"code": "BSC-401", "message": "gone", "evidence": "exit 3", "fix": "mend it"},
            },
        ],
        "tools": [
            {
                "name": "work_act",
                "server": "work",
                "tool": "act",
                "permissions": ["read"],
                "digest": "digest",
                "description": "Acts.",
                "status": "exposed",
                "problem": "",
                "findings": [],
            }
        ],
    }


def test_a_hidden_tool_is_not_part_of_the_shape():
    specs = [a_spec(status, status) for status in ToolStatus]

    shown = {tool["status"] for tool in as_shape([], specs)["tools"]}
    assert shown == set(ToolStatus) - {ToolStatus.HIDDEN}


BOTH = frozenset({"resources", "prompts"})


def test_only_what_was_asked_for_is_wanted():
    assert wanted(argparse.Namespace(resources=True, prompts=False)) == {"resources"}
    assert wanted(argparse.Namespace(resources=False, prompts=False)) == frozenset()


def test_a_resource_has_its_documented_shape():
    spec = ResourceSpec("notes", "resource", "sha256:0", uri="a://1", name="one", size=3)
    shape: ListShape = {"servers": [], "tools": []}
    add_offers(shape, Library([ServerOffers("notes", {"a://1": spec}, problems=("odd",))]), BOTH)
    assert shape == {
        "servers": [],
        "tools": [],
        "problems": ["notes: odd"],
        "resources": [
            {
                "server": "notes",
                "kind": "resource",
                "uri": "a://1",
                "uri_template": None,
                "name": "one",
                "title": None,
                "description": "",
                "mime_type": None,
                "size": 3,
                "digest": "sha256:0",
                "findings": [],
            }
        ],
        "prompts": [],
    }


@pytest.mark.long
async def test_the_command_lists_them_only_when_asked(tmp_path: Path):
    greet = {"name": "greet", "description": "Greets \x1b[31m.", "arguments": [{"name": "who", "required": True}]}
    server = offering(tmp_path, uris=("a://1",), templates=("a://{n}",), prompts=(greet,))
    file = configured(tmp_path, work=command_of(server))
    plain = await bascule(tmp_path, "list", "--json", "--config", file)
    assert set(plain.json) == {"servers", "tools"}
    shown = await bascule(tmp_path, "list", "--resources", "--prompts", "--config", file)
    assert shown.code == 0
    for words in ("a://1", "resource of work", "a://{n}", "template of work", "work_greet", "prompt(who) Greets"):
        assert words in shown.out
    assert "\x1b" not in shown.out
    told = await bascule(tmp_path, "list", "--prompts", "--json", "--config", file)
    (prompt,) = told.json["prompts"]
    assert (prompt["name"], prompt["prompt"], prompt["status"]) == ("work_greet", "greet", "exposed")
    assert prompt["arguments"] == [{"name": "who", "description": "", "required": True}]
    assert "resources" not in told.json


def test_a_listing_may_show_more_than_tools():
    options = build_parser().parse_args(["list", "--resources", "--prompts", "--tokens"])
    assert (options.resources, options.prompts, options.tokens) == (True, True, True)


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("", 0),
        ("The quick brown fox jumps over the lazy dog and then reads a file from disk.", 17),
        ('{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}', 18),
        ("検索するファイルを読み取る", 8),
    ],
)
def test_it_comes_near_to_what_a_tokenizer_counts(text: str, counted: int):
    """The numbers are those of o200k_base, a tokenizer in wide use."""
    assert abs(estimated_tokens(text) - counted) <= max(1, 0.15 * counted)


def test_a_tool_costs_its_name_its_description_and_its_schema():
    small = ToolSpec("work_act", ToolKey("work", "act"), "sha256:0")
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    large = ToolSpec("work_act", ToolKey("work", "act"), "sha256:0", "Does as it is told.", input_schema=schema)

    assert 0 < tokens_of(small) < tokens_of(large)
    assert tokens_of_all([small, large]) == tokens_of(small) + tokens_of(large)


def test_the_pair_is_small():
    assert tokens_of_all(entry.spec for entry in search_pair(("files", "github"))) < 400


def weighed(name: str, words: int, status: ToolStatus = ToolStatus.EXPOSED) -> ToolSpec:
    server, _, tool = name.partition("_")
    return ToolSpec(name, ToolKey(server, tool), "sha256:0", "word " * words, status=status)


SPECS = (
    weighed("b_small", 1),
    weighed("b_large", 100),
    weighed("a_one", 10),
    weighed("a_kept", 1000, ToolStatus.QUARANTINED),
)


def test_servers_are_told_with_their_tools_the_dearest_first():
    lines = [line.split() for line in cost_lines(SPECS)]

    assert [line[0] for line in lines[1:6]] == ["a", "a_one", "b", "b_large", "b_small"]
    assert lines[3][1:] == [str(tokens_of(SPECS[0]) + tokens_of(SPECS[1])), "2"]


def test_all_tools_stand_against_the_pair_and_that_it_is_an_estimate_is_said():
    lines = [*cost_lines(SPECS)]
    (everything,) = (line for line in lines if line.startswith("all tools"))
    (pair,) = (line for line in lines if line.startswith("search_tools and call_tool"))

    assert everything.split()[-2:] == [str(sum(tokens_of(spec) for spec in SPECS[:3])), "3"]
    assert int(pair.split()[-2]) > 0
    assert "estimated" in lines[0]
    assert lines[-1].startswith("estimated from the letters alone")


def test_what_agents_are_not_shown_costs_them_nothing():
    assert cost_of(SPECS[3]) == 0
    assert not any("kept" in line for line in cost_lines(SPECS))


def test_the_json_shape_gets_fields_and_loses_none():
    shape: Any = {
        "servers": [{"name": "a"}, {"name": "b"}, {"name": "c"}],
        "tools": [{"server": spec.key.server, "tool": spec.key.tool} for spec in SPECS],
    }
    add_costs(shape, SPECS)

    assert [tool["tokens"] for tool in shape["tools"]] == [cost_of(spec) for spec in SPECS]
    assert [server["tokens"] for server in shape["servers"]] == [
        tokens_of(SPECS[2]),
        tokens_of(SPECS[0]) + tokens_of(SPECS[1]),
        0,
    ]
    assert shape["tokens"]["estimated"] is True
    assert shape["tokens"]["all_tools"] == sum(map(cost_of, SPECS))
    assert 0 < shape["tokens"]["search_pair"] < 400
