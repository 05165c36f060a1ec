"""`bascule doctor`: options and exit codes."""

import json
from pathlib import Path

from bascule.cli.parser.command_table import build_parser
from support.command import bascule


def test_the_doctor_may_reap():
    assert build_parser().parse_args(["doctor", "--reap"]).reap


async def test_a_broken_config_is_the_first_thing_to_mend(tmp_path: Path):
    (tmp_path / ".mcp.json").write_text("{")
    ran = await bascule(tmp_path, "doctor", "--json")
    assert (ran.code, ran.json["ok"]) == (2, False)


async def test_a_bad_server_is_to_mend(tmp_path: Path):
    (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"bad": {"command": "no-such-command-anywhere"}}}))
    ran = await bascule(tmp_path, "doctor")
    assert ran.code == 3
    assert "✗ server bad" in ran.out
    assert "1 to mend" in ran.out
