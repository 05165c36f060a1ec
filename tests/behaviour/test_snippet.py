"""`bascule snippet`: what it prints is run as it stands."""

import asyncio
import json
from pathlib import Path

import pytest

from support import warm
from support.activated import activated
from support.command import bascule, environment
from support.fake_claude import fake_claude
from support.waiting import fail_after

pytestmark = pytest.mark.requirement("UX-2")

CONFIG = """\
mcp_servers:
  notes: {command: python, args: [-m, bascule.demo.notes]}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "bascule.yaml").write_text(CONFIG)
    return tmp_path


async def printed(folder: Path, text: str, **env: str) -> str:
    (folder / "agent.py").write_text(text)
    process = await asyncio.create_subprocess_exec(
        *(warm.python(), "agent.py"),
        cwd=folder,
        env=environment(folder, {**activated(), **env}),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    async with fail_after(90):
        out, _ = await process.communicate()
    assert process.returncode == 0, out.decode()
    return out.decode()


@pytest.mark.parametrize(
    ("framework", "told"),
    [
        ("plain", "result: notes: []\nlevel: PUBLIC"),
        ("pydantic-ai", "notes_search: notes: []\ndone\nlevel: PUBLIC"),
        ("langchain", "tool: notes: []\nai: done\nlevel: PUBLIC"),
        ("openai", "tool: notes: []\ndone\nlevel: PUBLIC"),
    ],
)
async def test_a_program_calls_a_tool_of_the_users_own_servers(folder: Path, framework: str, told: str):
    ran = await bascule(folder, "snippet", framework, env=activated())

    assert ran.code == 0, ran.err
    assert told in await printed(folder, ran.out)


@pytest.mark.long
async def test_the_program_for_claude_calls_it_too(folder: Path):
    ran = await bascule(folder, "snippet", "claude", env=activated())
    async with fake_claude(("notes_search", {})) as model:
        shown = await printed(folder, ran.out, **model.environment(folder))

    assert "tool: went well\ndone\nlevel: PUBLIC" in shown


async def test_a_tool_that_is_named_is_called_with_arguments_that_fit(folder: Path):
    ran = await bascule(folder, "snippet", "plain", "--tool", "notes_add", env=activated())

    assert "result: number: 1\ntext: hello" in await printed(folder, ran.out)


async def test_a_tool_that_is_not_there_is_told(folder: Path):
    ran = await bascule(folder, "snippet", "plain", "--tool", "notes_ad", env=activated())

    assert ran.code == 2
    assert "there is no tool 'notes_ad'" in ran.err


async def test_without_asking_a_server_it_prints_one_as_well(folder: Path):
    (folder / "bascule.yaml").write_text("mcp_servers:\n  gone: {command: no-such-program}\n")
    ran = await bascule(folder, "snippet", "openai", "--offline", env=activated())
    named = await bascule(folder, "snippet", "plain", "--offline", "--tool", "gone_find", env=activated())

    assert (ran.code, named.code) == (0, 0)
    assert "`bascule list` shows all, and --tool names one" in ran.err
    assert 'gateway.call("gone_find", {}' in named.out


async def test_an_extra_that_is_missing_is_named(folder: Path):
    ran = await bascule(folder, "snippet", "weakincentives", "--json", env=activated())

    assert ran.json["installed"] == ("to run it: pip install 'bascule[weakincentives]'" not in ran.err)
    assert (ran.json["extra"], ran.json["tool"]) == ("weakincentives", "notes_search")


async def test_the_entry_for_a_client_starts_the_gateway(folder: Path):
    ran = await bascule(folder, "snippet", "cursor", env=activated())
    entry = json.loads(ran.out)["mcpServers"]["bascule"]
    process = await asyncio.create_subprocess_exec(
        *(entry["command"], *entry["args"]),
        cwd="/",
        env=environment(folder, activated()),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    async with fail_after(60):
        out, _ = await process.communicate(b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}\n')

    assert b"notes_add" in out
    assert "~/.cursor/mcp.json" in ran.err
