"""The servers a file lists."""

from typing import Any

from bascule.config.loading.entries import BARE, Shape
from bascule.config.loading.server_list import Listing, list_drafts
from bascule.config.problems import Problems

OWN = Shape("mcp_servers", foreign=False)
CLAUDE = Shape("mcpServers", foreign=True)
SERVER = {"command": "npx"}


def listed(root: Any, shape: Shape) -> tuple[Listing, list[str]]:
    problems = Problems("f")
    return list_drafts(root, shape, problems), [problem.told for problem in problems.found]


def test_servers_of_ours_keep_their_names():
    listing, told = listed({"mcp_servers": {"a": SERVER, "b": {"url": "x"}}}, OWN)

    assert [(draft.name, draft.path, draft.foreign) for draft in listing.drafts] == [
        ("a", ("mcp_servers", "a"), False),
        ("b", ("mcp_servers", "b"), False),
    ]
    assert told == []


def test_a_name_in_our_file_must_be_ours():
    _, told = listed({"mcp_servers": {"My Files": SERVER}}, OWN)

    assert len(told) == 1
    assert '"my-files" would do' in told[0]


def test_names_in_other_files_are_folded_and_that_is_noted():
    listing, told = listed({"mcpServers": {"Figma MCP": SERVER}}, CLAUDE)

    assert listing.drafts[0].name == "figma-mcp"
    assert listing.drafts[0].notes == ['"Figma MCP" is called figma-mcp here']
    assert told == []


def test_two_names_that_fold_to_one_are_a_problem_naming_both():
    _, told = listed({"mcpServers": {"Figma MCP": SERVER, "figma-mcp": SERVER}}, CLAUDE)

    assert told == ['f: mcpServers.figma-mcp: would be called figma-mcp here, as "Figma MCP" is; rename one of them']


def test_a_disabled_server_is_left_out_and_noted():
    listing, told = listed(
        {"mcpServers": {"a": SERVER | {"disabled": True}, "A": SERVER, "b": SERVER | {"disabled": False}}}, CLAUDE
    )

    assert [draft.name for draft in listing.drafts] == ["a", "b"]
    assert listing.notes == ['"a" is left out: the file disables it']
    assert told == []


def test_what_stands_beside_the_servers_is_noted_once():
    root = {"mcpServers": {}, "theme": "dark", "x-bascule": {}, "inputs": [], "$schema": "x"} | {
        f"k{n}": 1 for n in range(9)
    }

    assert listed(root, CLAUDE)[0].notes == ["ignored beside the servers: theme, k0, k1, k2, k3, k4 and 4 more"]


def test_servers_may_stand_at_the_root():
    listing, told = listed({"a": SERVER, "inputs": [], "other": 5}, BARE)

    assert [draft.path for draft in listing.drafts] == [("a",)]
    assert listing.notes == ["ignored beside the servers: other"]
    assert told == []


def test_servers_must_be_a_mapping():
    assert listed({"mcp_servers": [SERVER]}, OWN)[1] == [
        "f: mcp_servers: must be a mapping of server names to their descriptions"
    ]
    assert listed({"mcp_servers": None}, OWN) == (Listing(), [])


def test_a_server_must_be_a_mapping():
    for shape in (OWN, CLAUDE):
        assert len(listed({shape.key: {"a": "npx"}}, shape)[1]) == 1
