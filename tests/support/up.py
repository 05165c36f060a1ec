"""A running `bascule up`, and what it tells."""

import asyncio
import json
import signal
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from support.command import started
from support.waiting import fail_after

Shape = dict[str, Any]


class Up:
    """The command while it runs, read line by line."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.told: list[Shape] = []

    async def until(self, wanted: Callable[[Shape], bool], what: str = "what is waited for") -> Shape:
        """The next object for which this is so."""
        async with fail_after(30, what):
            while True:
                shape = await self._next(what)
                if wanted(shape):
                    return shape

    async def until_server(self, name: str, state: str) -> Shape:
        return await self.until(
            lambda told: (told.get("name"), told.get("state")) == (name, state), f"{name} being {state}"
        )

    async def until_ready(self, *names: str) -> None:
        """All of them are ready, in whatever order."""
        waiting = set(names)

        def all_ready(told: Shape) -> bool:
            if told["event"] == "server" and told["state"] == "ready":
                waiting.discard(told["name"])
            return not waiting

        await self.until(all_ready, f"{', '.join(names)} being ready")

    async def until_config(self, *, applied: bool) -> Shape:
        return await self.until(
            lambda told: told["event"] == "config" and told["applied"] is applied, "the edit being told of"
        )

    async def stop(self, number: signal.Signals = signal.SIGINT) -> int:
        """Stop it, read the rest, and give back its exit code."""
        self.process.send_signal(number)
        async with fail_after(30, "the end of the command"):
            out, err = await self.process.communicate()
            self.told += [json.loads(line) for line in out.splitlines()]
        assert b"Traceback" not in err, err.decode()
        assert self.process.returncode is not None
        return self.process.returncode

    async def _next(self, what: str) -> Shape:
        assert self.process.stdout is not None
        line = await self.process.stdout.readline()
        assert line, f"the command ended while {what} was waited for"
        self.told.append(json.loads(line))
        return self.told[-1]


@asynccontextmanager
async def up(folder: Path, *words: str) -> AsyncGenerator[Up]:
    async with started(folder, "up", "--json", "--user", "ada", "--session", "s-1", *words) as process:
        yield Up(process)
