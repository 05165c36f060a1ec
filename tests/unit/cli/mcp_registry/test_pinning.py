"""Packages of no exact version."""

import pytest

from bascule.cli.mcp_registry.pinning import unpinned


@pytest.mark.parametrize(
    ("command", "instead"),
    [
        ("npx -y @modelcontextprotocol/server-memory", "@modelcontextprotocol/server-memory@VERSION"),
        ("npx -y pkg@latest", "pkg@VERSION"),
        ("npx -y pkg@^1.2.0", "pkg@VERSION"),
        ("npx -y pkg@1", "pkg@VERSION"),
        ("bunx pkg", "pkg@VERSION"),
        ("pnpm dlx pkg", "pkg@VERSION"),
        ("uvx mcp-server-time", "mcp-server-time==VERSION"),
        ("uvx mcp-server-time@latest", "mcp-server-time==VERSION"),
        ("uvx mcp-server-time>=1", "mcp-server-time==VERSION"),
        ("uvx --from pkg[extra] program", "pkg[extra]==VERSION"),
        ("uv tool run pkg", "pkg==VERSION"),
        ("pipx run pkg", "pkg==VERSION"),
    ],
)
def test_what_is_not_pinned_is_told_with_what_to_write(command: str, instead: str):
    found = unpinned(command.split())

    assert found is not None
    assert "is not pinned" in found[0]
    assert f"write {instead};" in found[1]


@pytest.mark.parametrize(
    "command",
    [
        "npx -y @scope/pkg@1.2.3",
        "npx -y pkg@1.2.3-beta.1",
        "uvx pkg==1.2",
        "uvx pkg@1.2",
        "npx -y /opt/pkg.tgz",
        "python server.py",
        "uv run server.py",
    ],
)
def test_what_is_pinned_or_fetches_nothing_is_in_order(command: str):
    assert unpinned(command.split()) is None


def test_only_what_is_loose_is_named():
    found = unpinned(["uvx", "--with", "extra==1.0", "pkg"])

    assert found is not None
    assert found[0].startswith("pkg is not pinned")
