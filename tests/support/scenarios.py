"""Servers that follow a scenario, and config files as people write them."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from bascule import AgentSession, Runtime
from bascule.config import ServerConfig
from support.runtime import Events, stand_in
from support.servers import argv
from support.waiting import fail_after


def scripted(folder: Path, *lives: dict[str, Any], name: str = "work", **config: Any) -> ServerConfig:
    """A server that answers as told, in each of its lives. It writes to `log_of(folder, name)`."""
    scenario = folder / f"{name}-scenario.json"
    scenario.write_text(json.dumps(lives))
    return stand_in(name, "scripted", scenario, log_of(folder, name), **config)


def log_of(folder: Path, name: str = "work") -> Path:
    return folder / f"{name}.log"


def listing(*tools: Any, **more: Any) -> dict[str, Any]:
    """An answer to `tools/list`."""
    return {"result": {"tools": [*tools], "ttlMs": 0, "cacheScope": "private", **more}}


def entry(server: str, *args: object, **more: Any) -> dict[str, Any]:
    """A stand-in of tests/servers, as a file describes it."""
    command, *rest = argv(server, *args)
    return {"command": command, "args": rest, **more}


def write_yaml(folder: Path, servers: dict[str, Any], **top: Any) -> Path:
    path = folder / "bascule.yaml"
    path.write_text(yaml.safe_dump({"mcp_servers": servers, **top}, sort_keys=False))
    return path


def write_mcp_json(folder: Path, servers: dict[str, Any]) -> Path:
    path = folder / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": servers}, indent=2))
    return path


@asynccontextmanager
async def from_file(path: Path, events: Events | None = None, *, within: float = 20) -> AsyncGenerator[AgentSession]:
    """An agent session on what a file names, for the length of the block, which must not hang."""
    made = Runtime.from_file(path, sinks=[] if events is None else [events.append])
    async with fail_after(within, "the life of a runtime"), made as runtime:
        yield runtime.session("alice", "s-1")
