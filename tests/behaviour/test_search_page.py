"""What docs/search.md and docs/adding.md show works as shown."""

import asyncio
import os
import re
import shlex
from pathlib import Path

import pytest

from bascule.config import load_file
from support import warm
from support.activated import activated
from support.command import bascule
from support.scenarios import from_file, write_mcp_json

ROOT = Path(__file__).parents[2]
SEARCH = (ROOT / "docs/search.md").read_text(encoding="utf-8")
ADDING = (ROOT / "docs/adding.md").read_text(encoding="utf-8")


def example(language: str, page: str) -> str:
    (block,) = re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    return block


@pytest.mark.requirement("CAT-8")
async def test_the_program_shown_finds_a_tool(tmp_path: Path):
    write_mcp_json(tmp_path, {"notes": {"command": "python", "args": ["-m", "bascule.demo.notes"]}})
    (tmp_path / "example.py").write_text(example("python", SEARCH))
    process = await asyncio.create_subprocess_exec(
        warm.python(),
        "example.py",
        cwd=tmp_path,
        env={**os.environ, **activated(), "BASCULE_HOME": str(tmp_path / "state")},
        stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        out, _ = await process.communicate()

    assert process.returncode == 0
    assert out.decode().splitlines()[0] == "notes_add"


@pytest.mark.requirement("CAT-8")
async def test_the_config_shown_gives_an_agent_the_pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", activated()["PATH"])
    path = tmp_path / "bascule.yaml"
    path.write_text(example("yaml", SEARCH))
    async with from_file(path) as session:
        assert [spec.name for spec in await session.offered()] == ["search_tools", "call_tool"]


@pytest.mark.requirement("CAT-11")
async def test_the_commands_shown_add_what_they_say(tmp_path: Path):
    for line in example("sh", ADDING).splitlines():
        ran = await bascule(tmp_path, *shlex.split(line)[1:])
        assert ran.code == 0, ran.err
    config = load_file(tmp_path / "bascule.yaml", {"ISSUES_TOKEN": "t", "MAPS_TOKEN": "t"})

    assert [*config.servers] == ["time", "issues", "maps"]
    assert all(server.unavailable_reason is None for server in config.servers.values())
