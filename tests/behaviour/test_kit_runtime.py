"""Servers of our kit behind a runtime: they know who asks, and what they have seen counts there too."""

import asyncio
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from bascule import AgentSession, Outcome, Runtime, ToolFailure, ToolResult
from bascule.config import InProcessTransport, Limits, ServerConfig, StdioTransport, StreamableHttpTransport
from support.ports import free_port
from support.waiting import fail_after
from support.warm import python

SERVER = Path(__file__).parent.parent / "servers" / "kit_who.py"
PERMISSIONS: Any = {"who": ("read",), "keep": ("write",), "salaries": ("read",), "publish": ("connect",)}

GROUP = 50
"""Users who are served at the same time: over stdio that many processes."""


def stdio() -> StdioTransport:
    return StdioTransport(command=python(), args=(str(SERVER),))


def config(transport: Any, **more: Any) -> ServerConfig:
    return ServerConfig(
        name="who", transport=transport, kit=True, trust=frozenset({"labels"}), permissions=PERMISSIONS, **more
    )


@asynccontextmanager
async def listening() -> AsyncGenerator[StreamableHttpTransport]:
    """The same server over HTTP."""
    port = free_port()
    process = await asyncio.create_subprocess_exec(
        python(), str(SERVER), str(port), stderr=asyncio.subprocess.PIPE, env=dict(os.environ)
    )
    assert process.stderr is not None
    try:
        async with fail_after(60, "the start of a server"):
            while b"Uvicorn running" not in (line := await process.stderr.readline()):
                assert line, "it ended"
        # What it logs has to be taken: a full pipe would stop it.
        drained = asyncio.create_task(process.stderr.read())
        yield StreamableHttpTransport(f"http://localhost:{port}/mcp")
        process.terminate()
        await drained
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
        await process.wait()


@asynccontextmanager
async def served(way: str, **more: Any) -> AsyncGenerator[Runtime]:
    if way == "http":
        async with listening() as transport, Runtime.from_servers({"who": config(transport, **more)}) as runtime:
            yield runtime
    else:
        transport = stdio() if way == "stdio" else InProcessTransport(in_process())
        async with Runtime.from_servers({"who": config(transport, **more)}) as runtime:
            yield runtime


def in_process() -> Any:
    from importlib.util import module_from_spec, spec_from_file_location

    spec = spec_from_file_location("kit_who_in_process", SERVER)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.mcp


def kept(session: AgentSession, path: str) -> str:
    return session.workspace.read_text(path)


async def answered(session: AgentSession, tool: str, arguments: dict[str, str]) -> Outcome:
    """What a tool answers that may be asked twice. On a machine that is too busy to keep the lease, what is under way
    is given up, and whoever asked may ask again."""
    outcome = await session.call(tool, arguments)
    for _ in range(20):
        if isinstance(outcome, ToolResult) or outcome.kind != "connection_error":
            break
        outcome = await session.call(tool, arguments)
    return outcome


@pytest.mark.long
@pytest.mark.requirement("KIT-8")
@pytest.mark.parametrize("way", ["stdio", "http", "memory"])
async def test_every_caller_is_known_as_themselves_and_has_their_own_workspace(way: str, scale: int):
    # Over stdio each has a process of its own, which takes its time to start.
    users = 20 * scale if scale > 1 else 4
    async with fail_after(900), served(way, limits=Limits(concurrent=None)) as runtime:

        async def ask(session: AgentSession, number: int) -> None:
            who = session.principal
            text = f"{who.user_id} {number}"
            outcome = await answered(session, "who_keep", {"name": f"{number}.txt", "text": text})
            assert isinstance(outcome, ToolResult), outcome
            assert outcome.structured == {"result": [[who.user_id, who.session_id, text]] * 3}
            # In a thread: the server may be at the same workspace, and the loop has a lease to keep.
            assert await asyncio.to_thread(kept, session, f"/workspace/{number}.txt") == text

        async def ask_for_all(sessions: list[AgentSession], number: int) -> None:
            # Each in another order, so that everybody comes between everybody else.
            for session in sessions[number:] + sessions[:number]:
                await ask(session, number)

        numbers = range(users)
        for first in numbers[::GROUP]:
            group = [runtime.session(f"user-{number}", f"session {number}") for number in numbers[first:][:GROUP]]
            await asyncio.gather(*(ask_for_all(group, number) for number in range(50)))
            await asyncio.gather(*(session.close() for session in group))


@pytest.mark.requirement("KIT-4")
@pytest.mark.parametrize("way", ["stdio", "http", "memory"])
@pytest.mark.long
async def test_private_data_raises_the_level_at_the_client_before_its_result_is_released(way: str):
    async with fail_after(120), served(way) as runtime:
        session = runtime.session("alice", "s-1")
        assert isinstance(await session.call("who_publish", {"text": "a"}), ToolResult)

        outcome = await session.call("who_salaries")

        assert isinstance(outcome, ToolResult), outcome
        assert (session.sensitivity.name, str(session.lane)) == ("CONFIDENTIAL", "proxied")
        refused = await session.call("who_publish", {"text": "3, 1, 2"})
        assert isinstance(refused, ToolFailure)
        assert refused.kind == "denied"
        # Another one is not held up by what Alice has seen.
        assert isinstance(await runtime.session("bob", "s-1").call("who_publish", {"text": "a"}), ToolResult)


@pytest.mark.requirement("KIT-3")
@pytest.mark.long
async def test_the_twin_goes_on_and_refuses_to_reach_out_by_itself():
    async with fail_after(120), served("stdio", isolated=stdio()) as runtime:
        session = runtime.session("alice", "s-1")
        assert isinstance(await session.call("who_salaries"), ToolResult)

        outcome = await session.call("who_who")
        assert isinstance(outcome, ToolResult), outcome
        assert (str(outcome.lane), outcome.structured) == ("sealed", {"user": "alice", "session": "s-1"})
        refused = await session.call("who_publish", {"text": "3, 1, 2"})
        assert isinstance(refused, ToolFailure)
        assert "reaches out, and this agent session has seen CONFIDENTIAL data" in refused.message


async def test_a_server_that_is_not_said_to_be_of_our_kit_is_told_nothing():
    strange = ServerConfig(name="who", transport=stdio(), permissions=PERMISSIONS)
    async with fail_after(60), Runtime.from_servers({"who": strange}) as runtime:
        outcome = await runtime.session("alice", "s-1").call("who_who")

    assert isinstance(outcome, ToolFailure)
    assert "not known on whose behalf" in outcome.message
