"""The stand-in servers of tests/servers as commands and dispatchers, and what they wrote down."""

import json
import os
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

from bascule.sandbox.process.child import Command
from bascule.sandbox.process.environment import child_environment
from bascule.transports.dispatcher import Dispatcher
from bascule.transports.process.stdio import StdioDispatcher
from support.waiting import fail_after

SERVERS = Path(__file__).parents[1] / "servers"
CAP = 8 * 1024 * 1024

AnyDispatcher = TypeVar("AnyDispatcher", bound=Dispatcher)


def argv(name: str, *args: object) -> list[str]:
    """How to start a stand-in. It needs the standard library alone, so it starts in half the time."""
    return [sys.executable, "-S", "-E", str(SERVERS / f"{name}.py"), *map(str, args)]


def command(name: str, *args: object, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Command:
    environment = child_environment(env or {}, (), os.environ)
    return Command(argv(name, *args), environment, str(cwd) if cwd is not None else None)


def stdio(name: str, *args: object, max_message: int = CAP, hidden: tuple[str, ...] = ()) -> StdioDispatcher:
    return StdioDispatcher(command(name, *args), max_message=max_message, hidden=hidden)


@asynccontextmanager
async def opened(dispatcher: AnyDispatcher, seconds: float = 20) -> AsyncGenerator[AnyDispatcher]:
    """Open for the length of the block, which must not hang."""
    async with fail_after(seconds, "the block"):
        try:
            await dispatcher.open()
            yield dispatcher
        finally:
            await dispatcher.close(2.0)


def received(log: Path) -> list[dict[str, Any]]:
    """Every message a stand-in wrote to its log."""
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def methods(log: Path) -> list[str]:
    return [message["method"] for message in received(log) if "method" in message]


def pids(log: Path) -> list[int]:
    """The processes that wrote to this log, in the order in which they started."""
    return [message["pid"] for message in received(log) if "pid" in message]
