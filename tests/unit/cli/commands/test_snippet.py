"""`bascule snippet`: the tool and the entries for MCP clients. The programs run in tests/behaviour/test_snippet.py."""

from pathlib import Path
from typing import Any

import pytest

from bascule.cli.commands.snippet import CLIENTS, Shown, client_entry, example, only_reads, shown
from bascule.core.permission import Permission
from bascule.core.tool import ToolKey, ToolSpec


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_is_told_whole_paths(client: str, tmp_path: Path):
    entry: Any = client_entry(client, tmp_path / "bascule.yaml")
    (servers,) = entry.values()

    assert [*entry] == ["servers" if client == "vscode" else "mcpServers"]
    assert Path(servers["bascule"]["command"]).is_absolute()
    assert servers["bascule"]["args"] == ["serve", "--stdio", "--config", str(tmp_path / "bascule.yaml")]


def spec(tool: str, *required: str, **more: Any) -> ToolSpec:
    schema = {"type": "object", "properties": {name: {"type": "string"} for name in required}, "required": [*required]}
    return ToolSpec(f"desk_{tool}", ToolKey("desk", tool), "d", input_schema=schema, **more)


@pytest.mark.parametrize(
    ("tool", "more", "reads"),
    [
        ("list_issues", {}, True),
        ("get-time", {}, True),
        ("delete_all", {}, False),
        ("delete_all", {"annotations": {"readOnlyHint": True}}, True),
        ("get_rid_of_all", {"annotations": {"readOnlyHint": False}}, False),
        ("delete_all", {"permissions": frozenset({Permission.READ})}, True),
    ],
)
def test_an_example_only_reads(tool: str, more: dict[str, Any], *, reads: bool):
    assert only_reads(spec(tool, **more)) is reads


def test_the_one_that_wants_least_is_shown():
    found = shown([spec("search", "a", "b"), spec("delete"), spec("get_time", "timezone"), spec("read", "x", "y")])

    assert found == Shown("desk_get_time", {"timezone": "UTC"})


def test_where_none_only_reads_none_is_shown():
    assert shown([spec("delete"), spec("write", "a")]) is None


def test_arguments_fit_their_schema():
    fields: dict[str, Any] = {
        "a": {"default": 5},
        "b": {"enum": ["x", "y"]},
        "c": {"type": "integer", "minimum": 3},
        "d": {"type": "boolean"},
        "e": {"type": "array"},
        "f": {"type": "string"},
        "g": {"const": "only"},
        "h": {"type": "string", "examples": ["such"]},
        "path": {"type": "string"},
        "not_needed": {"type": "string"},
    }
    given = example({"properties": fields, "required": [name for name in fields if name != "not_needed"]})

    expected = {"a": 5, "b": "x", "c": 3, "d": True, "e": [], "f": "hello", "g": "only", "h": "such", "path": "."}
    assert given == expected
