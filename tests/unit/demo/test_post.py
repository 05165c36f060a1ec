"""The built-in server that sends."""

import asyncio
import socket
from pathlib import Path

import pytest

from bascule.demo import post
from bascule.demo.post import TOOLS, send, surroundings
from bascule.demo.story.stage import receiving
from bascule.kit.stdio_server import ToolError
from support.waiting import fail_after


async def test_what_is_sent_is_there_when_it_returns():
    async with fail_after(20), receiving() as receiver:
        told = await asyncio.to_thread(send, receiver.address, "Grüße")

        assert receiver.messages == ["Grüße".encode()]
        assert told["sent"] == 7
        assert "lo" in told["interfaces"]


def test_where_nobody_listens_it_says_why_and_what_it_sees():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    with pytest.raises(ToolError, match="could not be reached: Connection refused; interfaces here: ") as told:
        send(f"127.0.0.1:{port}", "hello")
    assert told.value.facts == {"why": "Connection refused", **surroundings()}


@pytest.mark.parametrize("to", ["", "nowhere", ":80", "127.0.0.1:", "127.0.0.1:http"])
def test_what_is_no_address_is_told_so(to: str):
    with pytest.raises(ToolError, match="is no address"):
        send(to, "hello")


def test_a_port_that_cannot_be_is_told_so():
    with pytest.raises(ToolError, match="could not be reached"):
        send("127.0.0.1:99999", "hello")


def test_a_machine_that_does_not_tell_of_routes_has_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setattr(post, "ROUTES", tmp_path / "not-there")

    assert surroundings()["routes"] == 0


def test_its_tool_says_that_it_connects():
    (tool,) = TOOLS
    assert (tool.name, tool.permissions) == ("send", ("write", "connect"))
