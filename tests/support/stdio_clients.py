"""Clients that start `bascule serve --stdio` as Claude Desktop and its like do, and say to it whatever a test wants."""

import asyncio
import itertools
import json
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp import StdioServerParameters

from support import warm
from support.command import environment
from support.kit_http import NEW, OLD, PREFIX
from support.scenarios import entry, write_yaml
from support.survivors import end_all, survivors
from support.waiting import fail_after

META = {f"{PREFIX}/protocolVersion": NEW, f"{PREFIX}/clientCapabilities": {}}
INTRODUCTION = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
LINE = 64 * 1024 * 1024
"""Bytes of the longest line that a client here takes."""


@dataclass
class Talk:
    """The two pipes of a gateway that runs, and what it said that nobody has asked for yet."""

    process: asyncio.subprocess.Process
    unasked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        await self.process.stdin.drain()

    async def say(self, message: dict[str, Any]) -> None:
        await self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def begin(self, method: str, params: dict[str, Any] | None = None, *, new: bool = True) -> int:
        """Ask, and wait for nothing. Gives the id."""
        number = next(self._ids)
        given = dict(params or {})
        if new:
            given["_meta"] = {**META, **given.get("_meta", {})}
        await self.say({"id": number, "method": method, "params": given})
        return number

    async def ask(self, method: str, params: dict[str, Any] | None = None, *, new: bool = True) -> dict[str, Any]:
        """The answer. What comes before it is kept in `unasked`."""
        return await self.answer_to(await self.begin(method, params, new=new))

    async def answer_to(self, number: int | None) -> dict[str, Any]:
        while (message := await self.hear()).get("id", "none") != number or "method" in message:
            self.unasked.append(message)
        return message

    async def hear_of(self, method: str) -> dict[str, Any]:
        """The next message of this kind. What comes before it is kept in `unasked`."""
        while (message := await self.hear()).get("method") != method:
            self.unasked.append(message)
        return message

    async def hear(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        assert line, "it has ended"
        return json.loads(line)

    async def introduce(self, **capabilities: Any) -> dict[str, Any]:
        """As clients of the old era do."""
        answer = await self.ask("initialize", {**INTRODUCTION, "capabilities": capabilities}, new=False)
        await self.say({"method": "notifications/initialized"})
        return answer["result"]

    async def hang_up(self) -> tuple[int, list[dict[str, Any]]]:
        """Say no more, and wait for its end. Gives its exit code, and the last it said."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        rest = await self.process.stdout.read()
        return await self.process.wait(), [json.loads(line) for line in rest.splitlines()]


@asynccontextmanager
async def talking(
    folder: Path,
    *words: str,
    servers: dict[str, Any] | None = None,
    stdout: int = asyncio.subprocess.PIPE,
) -> AsyncGenerator[Talk]:
    """A gateway for the length of the block, which must not hang. Nothing of it may be left afterwards."""
    path = write_yaml(folder, servers or {"work": entry("obeying", folder / "log")})
    marker = f"talk-{uuid.uuid4().hex}"
    with (folder / "stderr").open("ab") as said:
        process = await asyncio.create_subprocess_exec(
            *(warm.bascule(), "serve", "--stdio", "--config", str(path), *words),
            cwd=folder,
            env=environment(folder, {"BASCULE_MARKER": marker}),
            stdin=asyncio.subprocess.PIPE,
            stdout=stdout,
            stderr=said,
            limit=LINE,
        )
    try:
        async with fail_after(120, "a talk"):
            yield Talk(process)
            if process.stdin is not None:
                process.stdin.close()
            await process.wait()
            assert await survivors(marker) == []
    finally:
        end_all(marker)
        await process.wait()


@asynccontextmanager
async def as_command(folder: Path, servers: dict[str, Any]) -> AsyncGenerator[StdioServerParameters]:
    """The gateway as a client's config names it. Nothing of what the client starts may be left afterwards."""
    marker = f"command-{uuid.uuid4().hex}"
    args = ["serve", "--stdio", "--config", str(write_yaml(folder, servers))]
    env = environment(folder, {"BASCULE_MARKER": marker})
    try:
        yield StdioServerParameters(command=str(warm.bascule()), args=args, env=env)
        assert await survivors(marker) == []
    finally:
        end_all(marker)


def words_of(folder: Path) -> str:
    """What it said on stderr."""
    return (folder / "stderr").read_text()
