"""Health check of Node.js, and version ranges as npm reads them."""

import json
import os
from pathlib import Path

import pytest

from bascule.cli.doctor.node import fits, least, node_check, old_node, version_in
from bascule.config import ServerConfig, StdioTransport


def wanting(folder: Path, node: str) -> ServerConfig:
    (folder / "package.json").write_text(json.dumps({"engines": {"node": node}}))
    return ServerConfig("notes", StdioTransport("node", ("server.js",), cwd=str(folder)))


async def test_a_node_that_is_wanted_is_in_order_and_another_is_told(tmp_path: Path):
    assert await old_node(wanting(tmp_path, ">=4"), os.environ) is None
    found = await old_node(wanting(tmp_path, ">=999"), os.environ)

    assert found is not None
    assert found.insight.fix.startswith("install Node 999 or newer")
    assert [check.status for check in node_check("notes", found)] == ["warn"]
    assert node_check("notes", None) == []


async def test_what_npm_says_counts_where_nothing_is_installed_yet(tmp_path: Path):
    server = ServerConfig("notes", StdioTransport("npx", ("-y", "no-such-package-of-ours@1.0.0"), cwd=str(tmp_path)))
    said = "npm WARN EBADENGINE   required: { node: '>=999' },"
    found = await old_node(server, {**os.environ, "HOME": str(tmp_path)}, said)

    assert found is not None
    assert found.wanted == ">=999"


async def test_what_node_does_not_run_is_not_looked_at():
    assert await old_node(ServerConfig("notes", StdioTransport("python")), os.environ) is None


@pytest.mark.parametrize(
    ("wanted", "version", "good"),
    [
        (">=18", "v18.0.0", True), (">=18", "v17.9.9", False), (">= 18.12", "v18.11.0", False),
        ("^20.19.0 || >=22.12.0", "v21.0.0", False), ("^20.19.0 || >=22.12.0", "v20.20.2", True),
        ("18.x", "v18.4.1", True), ("18.x", "v20.0.0", False), (">=14 <19", "v20.0.0", False),
        ("16 - 18", "v18.9.0", True), ("~20.1", "v20.2.0", False), (">18", "v18.9.0", False), ("<=18", "v18.9.0", True),
        ("*", "v1.0.0", True), ("", "v1.0.0", True), ("whatever works", "v1.0.0", True), ("20.1.2", "v20.1.3", False),
    ],
)  # fmt: skip
def test_a_version_is_in_a_range_or_not(wanted: str, version: str, good: bool):
    read = version_in(version)

    assert read is not None
    assert fits(read, wanted) is good


def test_the_lowest_version_that_would_do_is_named():
    assert least("^20.19.0 || >=22.12.0", (12, 0, 0)) == "20.19"
    assert least(">=18", (12, 0, 0)) == "18"
    assert least("<10", (12, 0, 0)) == ""
    assert least("whatever works", (12, 0, 0)) == ""


def test_what_is_no_version_is_none():
    assert version_in("hello") is None
    assert version_in("v18") is None
