"""The whole story, with servers that others wrote, on an internet of the tests' own: an agent looks something up, reads
a private file, and can no longer tell anybody."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support import warm
from support.fetched import kept_on, path_with_uv
from support.fetched import shelf as shelf  # noqa: PLC0414 -- a fixture
from support.internet import Internet, internet
from support.on_the_internet import entering, made_by

pytestmark = pytest.mark.long

AGENT = Path(__file__).parents[1] / "support/story_agent.py"
SECRET = "salaries-of-everybody"
LONGEST = 300


def prepared(config: Path, env: dict[str, str]) -> None:
    """Have the servers' packages fetched, where there are registries: on the tests' internet there are none."""
    argv = [str(warm.bascule()), "list", "--config", str(config), "--json"]
    ended = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=LONGEST, check=False)
    servers = {server["name"]: server for server in json.loads(ended.stdout)["servers"]}
    assert {name: server["error"] for name, server in servers.items()} == {"files": None, "web": None}, ended.stderr


def told_by_agent(net: Internet, config: Path, file: Path, env: dict[str, str]) -> dict[str, Any]:
    argv = [*entering(net), sys.executable, str(AGENT), str(config), "http://allowed.test", str(file)]
    ended = subprocess.run(argv, capture_output=True, text=True, env=env, timeout=LONGEST, check=False, cwd="/")
    assert ended.returncode == 0, ended.stderr
    return {line["step"]: line for line in map(json.loads, ended.stdout.splitlines())}


@pytest.mark.parametrize("engine", ["bubblewrap", "docker"])
def test_what_was_read_cannot_be_sent(engine: str, tmp_path: Path, shelf: Path):
    data = tmp_path / "data"
    data.mkdir()
    (data / "salaries.txt").write_text(SECRET)
    servers: dict[str, dict[str, Any]] = {
        "files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", str(data)]},
        "web": {"command": "uvx", "args": ["mcp-server-fetch", "--ignore-robots-txt", "--allow-private-ips"]},
    }
    servers["files"]["x-bascule"] = {"raises": {"read_text_file": "secret"}}
    config = tmp_path / ".mcp.json"
    config.write_text(json.dumps({"mcpServers": servers}))
    env = {**os.environ, "PATH": path_with_uv(), "BASCULE_HOME": str(kept_on(shelf, tmp_path / "state"))}

    prepared(config, {**env, "BASCULE_SANDBOX": "bubblewrap"})
    with internet() as net, made_by(engine, net) as more:
        told = told_by_agent(net, config, data / "salaries.txt", {**env, **more})
        asked = json.dumps(net.asked())

    # Before, the same tool reached the same host.
    assert (told["looked up"]["ok"], told["looked up"]["lane"]) == (True, "open"), told["looked up"]
    assert "/before" in asked
    # What raised the level is released, from the tighter box.
    assert (told["read"]["ok"], told["read"]["level"]) == (True, "SECRET")
    assert SECRET in told["read"]["text"]
    # The same tool goes on, where it reaches nobody.
    assert (told["sent"]["ok"], told["sent"]["lane"]) == (False, "sealed"), told["sent"]
    assert SECRET not in asked
    assert "/take" not in asked
    # And the agent can go on working.
    assert (told["read again"]["ok"], told["read again"]["lane"]) == (True, "sealed")
    assert told["receipt"]["twins"] == {"files": "probed", "web": "probed"}
