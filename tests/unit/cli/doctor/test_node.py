"""What a package wants of Node, and which there is."""

import json
import os
from pathlib import Path

from bascule.cli.doctor.node import node_check, old_node
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
