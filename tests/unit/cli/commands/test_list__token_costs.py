"""Token costs of tools, as `bascule list --tokens` prints them."""

from typing import Any

from bascule.cli.commands.list import add_costs, cost_lines, cost_of, tokens_of
from bascule.core.tool import ToolKey, ToolSpec, ToolStatus


def a_spec(name: str, words: int, status: ToolStatus = ToolStatus.EXPOSED) -> ToolSpec:
    server, _, tool = name.partition("_")
    return ToolSpec(name, ToolKey(server, tool), "sha256:0", "word " * words, status=status)


SPECS = (
    a_spec("b_small", 1),
    a_spec("b_large", 100),
    a_spec("a_one", 10),
    a_spec("a_kept", 1000, ToolStatus.QUARANTINED),
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
