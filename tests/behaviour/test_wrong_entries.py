"""A server whose own entry in the config is wrong is told as that, whatever is asked of it, and the others work."""

from pathlib import Path
from typing import Any

import pytest

from support.command import bascule
from support.gateways import ask, line_to, serving
from support.inside import load_file
from support.scenarios import entry, write_yaml

pytestmark = pytest.mark.requirement("UX-3")

WRONG = {"url": "http://127.0.0.1:9/mcp", "headers": {"Authorization": "Bearer ${NOT_SET}"}}

ASKED = (
    ("call", "wrong_search", "--json"),
    ("inspect", "wrong"),
    ("prompt", "wrong_summary", "--json"),
    ("read", "notes://x", "--server", "wrong", "--json"),
    ("login", "wrong"),
)


def configured(folder: Path) -> Path:
    return write_yaml(folder, {"wrong": WRONG, "echo": entry("echo")})


@pytest.mark.parametrize("words", ASKED, ids=" ".join)
async def test_a_command_tells_it_as_a_fault_of_the_config(tmp_path: Path, words: tuple[str, ...]):
    configured(tmp_path)
    ran = await bascule(tmp_path, *words)

    assert ran.code in {2, 3}
    assert "BSC-100" in ran.out + ran.err
    assert "BSC-2" not in ran.out + ran.err
    assert "BSC-4" not in ran.out + ran.err
    assert "set NOT_SET in the environment" in ran.out + ran.err


async def test_a_listing_tells_it_beside_the_tools_of_the_others(tmp_path: Path):
    configured(tmp_path)
    listed = (await bascule(tmp_path, "list", "--json")).json

    assert {server["name"]: (server["error"] or {}).get("code") for server in listed["servers"]} == {
        "wrong": "BSC-100",
        "echo": None,
    }
    assert [tool["name"] for tool in listed["tools"]] == ["echo_echo"]


@pytest.mark.parametrize(
    ("method", "params"),
    [("tools/call", {"name": "wrong_search", "arguments": {}}), ("prompts/get", {"name": "wrong_summary"})],
)
async def test_a_client_of_the_gateway_is_told_so_too(tmp_path: Path, method: str, params: dict[str, Any]):
    servers = load_file(configured(tmp_path)).servers
    async with serving(*servers.values()) as served, line_to(served.port) as line:
        told = await ask(line, method, params)
        listed = await ask(line, "tools/list")

    assert b'"code":"BSC-100","retriable":false' in told.body
    assert b"set NOT_SET in the environment" in told.body
    assert [tool["name"] for tool in listed.message["result"]["tools"]] == ["echo_echo"]
