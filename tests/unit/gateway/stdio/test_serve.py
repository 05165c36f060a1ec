"""A conversation over two pipes, and its ends. Whole processes are in tests/behaviour."""

import asyncio
import json
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bascule.gateway.mcp.handler import Desk
from bascule.gateway.stdio import serve as module
from bascule.gateway.stdio.serve import Ends, serve_stdio
from bascule.identity.signed_state import Seal
from support.runtime import at_work, obeying
from support.servers import methods
from support.waiting import fail_after, until


@dataclass
class Far:
    """The client's ends."""

    reading: int
    writing: int
    stop: asyncio.Event
    serving: asyncio.Task[None]

    def say(self, method: str, **params: Any) -> None:
        os.write(self.writing, json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode())
        os.write(self.writing, b"\n")

    async def hear(self) -> list[Any]:
        """All that comes before the end."""
        said = b""
        while piece := await asyncio.to_thread(os.read, self.reading, 1 << 16):
            said += piece
        return [json.loads(line) for line in said.splitlines()]


@asynccontextmanager
async def served(tmp_path: Path) -> AsyncGenerator[Far]:
    (ours, writing), (reading, theirs) = os.pipe(), os.pipe()
    async with at_work(obeying(tmp_path / "log")) as session, fail_after(15, "a conversation"):
        await session.tools()
        stop = asyncio.Event()
        serving = asyncio.ensure_future(
            serve_stdio(Desk(session, Seal(tmp_path, time.time)), Ends(ours, theirs), 10_000, stop)
        )
        yield Far(reading, writing, stop, serving)
        await serving


async def test_it_ends_with_its_input_and_a_last_line_needs_no_end(tmp_path: Path):
    async with served(tmp_path) as far:
        os.write(far.writing, b'{"jsonrpc":"2.0","id":1,"method":"ping"}')
        os.close(far.writing)
        assert await far.hear() == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


async def test_it_ends_with_its_output(tmp_path: Path):
    async with served(tmp_path) as far:
        os.close(far.reading)
        await far.serving
        os.close(far.writing)


async def test_told_to_stop_it_leaves_a_last_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LAST_MOMENT", 0.1)
    async with served(tmp_path) as far:
        far.say("tools/call", name="work_act", arguments={"silent": True})
        await until(lambda: "tools/call" in methods(tmp_path / "log"))
        far.stop.set()
        await far.serving
        assert await far.hear() == []
        os.close(far.writing)
    assert "notifications/cancelled" in methods(tmp_path / "log")


async def test_an_answer_that_nobody_reads_keeps_nobody_from_ending(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "LAST_MOMENT", 0.1)
    async with served(tmp_path) as far:
        text = {"content": [{"type": "text", "text": "x" * 5000}]}
        for number in range(60):
            params = {"name": "work_act", "arguments": {"result": text}}
            line = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            await asyncio.to_thread(os.write, far.writing, json.dumps(line).encode() + b"\n")
        os.close(far.writing)
        far.stop.set()
        await far.serving
        os.close(far.reading)
