"""Confidential data reaches those who may receive it, and nobody else. On an internet of the tests' own."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.command import BASCULE
from support.internet import Internet, internet
from support.on_the_internet import entering

AGENT = Path(__file__).parents[1] / "support/confidential_agent.py"

ALLOWED, DENIED, PRIVATE = "http://allowed.test/a", "http://denied.test/b", "http://loopback.wild.test/c"


def told_by_agent(net: Internet, config: Path, *urls: str) -> Any:
    argv = [*entering(net), sys.executable, str(AGENT), str(config), *urls]
    ended = subprocess.run(
        argv, capture_output=True, text=True, env=dict(os.environ), timeout=180, check=False, cwd="/"
    )
    assert ended.returncode == 0, ended.stderr
    return json.loads(ended.stdout)


@pytest.mark.long
@pytest.mark.requirement("SBX-3")
def test_what_is_confidential_goes_to_who_may_receive_it_and_to_nobody_else(engine: str, tmp_path: Path):
    serving = {"command": str(BASCULE), "args": ["sandbox", "serve"], "permissions": {"run": ["write", "connect"]}}
    config = tmp_path / "bascule.yaml"
    allow = ["allowed.test", "*.wild.test"]
    config.write_text(json.dumps({"mcp_servers": {"box": serving}, "egress": {"allow": allow}}))

    with internet() as net:
        told = told_by_agent(net, config, ALLOWED, DENIED, PRIVATE)
        asked, looked_up = net.asked(), net.looked_up()

    said = {url: outcome["stdout"] for url, outcome in told["told"].items()}
    assert said[ALLOWED].endswith("200"), told
    assert [one["head"][0].split()[1] for one in asked] == ["/a"]
    # What is refused says why, and what an operator would have to do.
    assert said[DENIED].endswith("403")
    assert "egress.allow" in said[DENIED]
    assert said[PRIVATE].endswith("403")
    assert "denied.test" not in looked_up
    # And each is written down, by whom it was asked for.
    assert dict(told["asked"]) == {"allowed.test": "", "denied.test": "host", "loopback.wild.test": "private"}
