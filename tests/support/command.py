"""Runs the `bascule` command as a user does: a process of its own, in a folder of its own."""

import asyncio
import json
import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import warm
from support.servers import argv

BASCULE = warm.COMMAND


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def environment(folder: Path, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of this process, with the state kept inside the test's own folder."""
    return {**os.environ, "BASCULE_HOME": str(folder / "state"), **(extra or {})}


def configured(folder: Path, **servers: Mapping[str, Any]) -> str:
    """The name of a config file in this folder that lists these servers."""
    file = folder / "bascule.yaml"
    file.write_text(json.dumps({"mcp_servers": servers}))
    return str(file)


def entry(server: str, *args: object, **keys: Any) -> dict[str, Any]:
    """A stand-in of tests/servers, as a config file names it."""
    command, *rest = argv(server, *args)
    return {"command": command, "args": rest, "timeouts": {"close": 1}, **keys}


async def bascule(
    folder: Path, *argv: str, env: Mapping[str, str] | None = None, timeout: float = 60, anew: bool = False
) -> Ran:
    async with started(folder, *argv, env=env, anew=anew) as process:
        async with asyncio.timeout(timeout):
            out, err = await process.communicate()
    assert process.returncode is not None
    return Ran(process.returncode, out.decode(), err.decode())


@asynccontextmanager
async def started(
    folder: Path, *argv: str, env: Mapping[str, str] | None = None, anew: bool = False
) -> AsyncGenerator[asyncio.subprocess.Process]:
    """The command while it runs. It is ended on leaving, if it has not ended by itself. Started anew it is the process
    that a test sees, with its children beneath it."""
    process = await asyncio.create_subprocess_exec(
        BASCULE if anew else warm.bascule(),
        *argv,
        cwd=folder,
        env=environment(folder, env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
            await process.wait()
