"""MCP Inspector, a client that nobody here wrote, lists and calls through the gateway in each of its eras."""

from collections.abc import AsyncGenerator
from typing import Literal

import pytest

from bascule.config import ServerConfig, StdioTransport
from support.gateways import AUTH, serving
from support.inspector import ERAS, inspect, install
from support.kit_http import bearer
from support.peers import clock

pytestmark = pytest.mark.long

TOOLS = [f"{server}_{tool}" for server in ("older", "newer") for tool in ("get_current_time", "convert_time")]


def told_time(name: str, era: Literal["old", "new"]) -> ServerConfig:
    """A server that speaks both eras, spoken to in one of them."""
    command, *args = clock()
    return ServerConfig(name=name, transport=StdioTransport(command, tuple(args)), era=era)


@pytest.fixture(scope="module", autouse=True)
def inspector() -> None:
    install()


@pytest.fixture
async def url() -> AsyncGenerator[str]:
    async with serving(told_time("older", "old"), told_time("newer", "new"), auth=AUTH, within=180) as gateway:
        yield f"http://127.0.0.1:{gateway.port}/mcp"


@pytest.mark.requirement("GTW-1")
@pytest.mark.parametrize("era", ERAS)
async def test_it_lists_and_calls_servers_of_both_eras(url: str, era: str):
    alice = bearer("alice")
    listed = await inspect(url, "tools/list", era=era, token=alice)
    assert [tool["name"] for tool in listed.result["tools"]] == TOOLS

    for server in ("older", "newer"):
        words = ("--tool-name", f"{server}_get_current_time", "--tool-arg", "timezone=UTC")
        called = await inspect(url, "tools/call", *words, era=era, token=alice)
        assert called.result["structuredContent"]["timezone"] == "UTC"

    nonsense = ("--tool-name", "newer_get_current_time", "--tool-arg", "timezone=Nowhere")
    failed = await inspect(url, "tools/call", *nonsense, era=era, token=alice)
    assert (failed.code, "tool_is_error" in failed.err) == (5, True), failed


@pytest.mark.requirement("GTW-2")
@pytest.mark.parametrize("era", ERAS)
async def test_without_a_token_it_is_told_to_log_in(url: str, era: str):
    told = await inspect(url, "tools/list", era=era)
    assert (told.code, "auth_required" in told.err) == (3, True), told
