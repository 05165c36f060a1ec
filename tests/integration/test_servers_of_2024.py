"""Servers of real SDKs that speak HTTP+SSE, reached by their URL without a setting."""

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from support.command import bascule
from support.peers import everything_over_sse, vintage_over_sse

Peer = Callable[[], AbstractAsyncContextManager[str]]


@pytest.mark.parametrize(
    ("peer", "text"), [(everything_over_sse, "Echo: hi\n"), (vintage_over_sse, "hi\n")], ids=["typescript", "python"]
)
async def test_a_server_of_http_with_sse_is_listed_and_called_by_its_url_alone(peer: Peer, text: str, tmp_path: Path):
    async with peer() as url:
        (tmp_path / ".mcp.json").write_text(json.dumps({"mcpServers": {"old": {"url": url}}}))
        listed = await bascule(tmp_path, "list", "--json")
        called = await bascule(tmp_path, "call", "old_echo", "message=hi")

    (server,) = listed.json["servers"]
    assert (server["transport"], server["state"]) == ("sse", "ready"), server
    assert (called.code, called.out) == (0, text), called.err
