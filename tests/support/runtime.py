"""Runtimes on stand-in servers, and what they told."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from bascule.config import InProcessTransport, Restart, RuntimeConfig, ServerConfig, StdioTransport, Timeouts
from bascule.core.client_features import OnAsk, OnElicit, OnSample
from bascule.core.errors import ConnectionLost
from bascule.core.events import LevelChanged, QuestionAnswered, RequestEnded, ToolInvoked
from bascule.core.json_types import JsonObject
from bascule.core.outcome import FailureKind, Outcome, Result, ToolFailure, ToolResult
from bascule.core.request import Request
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.registry import Roster
from bascule.runtime.session import AgentSession
from bascule.sensitivity.ratchet import Ratchet
from bascule.store.levels.interface import SessionRecord
from support.links import ALICE, BOB
from support.servers import argv, pids, received
from support.streams import Loopback
from support.waiting import PATIENCE, fail_after

AnyResult = TypeVar("AnyResult", bound=Result)

TIMEOUTS = Timeouts(connect=15 * PATIENCE, probe=10 * PATIENCE, list=10 * PATIENCE, call=10 * PATIENCE, close=1)
"""Long enough for a slow machine; tests of a limit shorten that one."""


QUICKLY = Restart(attempts=20, backoff=0.02)
"""Dead servers come back at once, and nobody is held off."""


BIG = "x" * (1 << 20)
"""More than a pipe and the buffer before it hold."""


def stand_in(name: str, server: str, *args: object, timeouts: Timeouts = TIMEOUTS, **config: Any) -> ServerConfig:
    """A stand-in of tests/servers, as a config names it."""
    command, *rest = argv(server, *args)
    transport = StdioTransport(command=command, args=tuple(rest))
    return ServerConfig(name=name, transport=transport, timeouts=timeouts, **config)


def obeying(log: Path, *tools: JsonObject, name: str = "work", **config: Any) -> ServerConfig:
    """A server that does what the arguments of its tools say."""
    return stand_in(name, "obeying", log, *([json.dumps(tools)] if tools else []), **config)


def a_tool(name: str, schema: JsonObject | None = None, **definition: Any) -> JsonObject:
    return {"name": name, "inputSchema": {"type": "object", **(schema or {})}, **definition}


def twinned(server: ServerConfig, twin: ServerConfig) -> ServerConfig:
    """The server, with the other one as its declared twin."""
    return replace(server, isolated=twin.transport)


class Events(list[Any]):
    """Everything a runtime told."""

    @property
    def calls(self) -> list[ToolInvoked]:
        return [event for event in self if isinstance(event, ToolInvoked)]

    @property
    def requests(self) -> list[RequestEnded]:
        return [event for event in self if isinstance(event, RequestEnded)]

    @property
    def answers(self) -> list[QuestionAnswered]:
        return [event for event in self if isinstance(event, QuestionAnswered)]

    @property
    def raises(self) -> list[LevelChanged]:
        return [event for event in self if isinstance(event, LevelChanged)]

    @property
    def call(self) -> ToolInvoked:
        """The one event of the one call that was made."""
        (event,) = self.calls
        return event


@asynccontextmanager
async def running(
    *servers: ServerConfig,
    events: Events | None = None,
    on_elicit: OnElicit | None = None,
    on_sample: OnSample | None = None,
    on_ask: OnAsk | None = None,
    for_clients: bool = False,
    within: float = 20,
    **config: Any,
) -> AsyncGenerator[Runtime]:
    """A runtime for the length of the block, which must not hang."""
    sinks = [] if events is None else [events.append]
    named = {server.name: server for server in servers}
    asked = RuntimeConfig(servers=named, **config)
    callbacks: dict[str, Any] = {"on_elicit": on_elicit, "on_sample": on_sample, "on_ask": on_ask}
    made = Runtime(asked, sinks=sinks, for_clients=for_clients, **callbacks)
    async with fail_after(within, "the life of a runtime"), made as runtime:
        yield runtime


@asynccontextmanager
async def at_work(
    *servers: ServerConfig, events: Events | None = None, **callbacks: Any
) -> AsyncGenerator[AgentSession]:
    """An agent session, and a runtime around it."""
    async with running(*servers, events=events, **callbacks) as runtime:
        yield runtime.session("alice", "s-1")


def roster_of(runtime: Runtime) -> Roster:
    """The roster, for which Alice and Bob have begun."""
    assert runtime._roster is not None
    for principal in (ALICE, BOB):
        runtime._roster.ratchets.of(principal).follow(SessionRecord(principal, DataSensitivity.PUBLIC))
    return runtime._roster


def ratchet_of(session: AgentSession) -> Ratchet:
    return session._standing.ratchet


def calls_in(log: Path) -> list[JsonObject]:
    """The parameters of every tool call a stand-in got."""
    return [message["params"] for message in received(log) if message.get("method") == "tools/call"]


class Arrived:
    """Told of progress, which a stand-in sends as soon as it has got a call."""

    def __init__(self) -> None:
        self.progress: list[float] = []
        self._came = asyncio.Event()

    def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self.progress.append(progress)
        self._came.set()

    async def wait(self) -> None:
        async with fail_after(10, "the arrival of a call"):
            await self._came.wait()


def good(outcome: Outcome) -> ToolResult:
    assert isinstance(outcome, ToolResult), outcome
    return outcome


def well(outcome: AnyResult | ToolFailure) -> AnyResult:
    """A result of any kind."""
    assert not isinstance(outcome, ToolFailure), outcome
    return outcome


def bad(outcome: Result | ToolFailure, kind: FailureKind) -> ToolFailure:
    assert isinstance(outcome, ToolFailure), outcome
    assert outcome.kind is kind, outcome
    return outcome


def text(value: str) -> JsonObject:
    return {"content": [{"type": "text", "text": value}]}


async def settled() -> None:
    """Let everything that can happen now happen."""
    for _ in range(5):
        await asyncio.sleep(0)


@asynccontextmanager
async def a_full_pipe(session: AgentSession, log: Path) -> AsyncGenerator[tuple[int, list[asyncio.Task[Outcome]]]]:
    """The server has stopped reading in the middle of a large message. Gives its pid and the two calls before."""
    dozing, arrived = {"doze": True, "progress": [1]}, Arrived()
    first = asyncio.create_task(session.call("work_act", dozing, on_progress=arrived))
    await arrived.wait()
    second = asyncio.create_task(session.call("work_act", {"big": BIG}))
    await settled()
    yield pids(log)[-1], [first, second]
    await asyncio.gather(first, second)


OnCall = Callable[[Request], JsonObject]


class Staged(Loopback):
    """A server of the new era without a process, which takes whatever it is sent. What happens then is the test's
    affair."""

    def __init__(self, on_call: OnCall, on_list: Callable[[], None]) -> None:
        super().__init__()
        self._on_call, self._on_list = on_call, on_list

    async def send(self, request: Request) -> JsonObject:
        if self.lost.done():
            raise ConnectionLost("gone", sent=False)
        match request.method:
            case "server/discover":
                return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
            case "tools/list":
                self._on_list()
                return {"tools": [a_tool("act")]}
            case _:
                return self._on_call(request)


def nothing() -> None:
    """What happens when nothing is to happen."""


@asynccontextmanager
async def staged(
    on_call: OnCall, events: Events | None = None, on_list: Callable[[], None] = nothing, **settings: Any
) -> AsyncGenerator[AgentSession]:
    """An agent session whose one server, `work`, is staged: every link is a new one."""
    config = ServerConfig(name="work", transport=InProcessTransport(object()), timeouts=TIMEOUTS, **settings)
    async with running(config, events=events) as runtime:
        board = roster_of(runtime).links
        planned = board._plan_for
        board._plan_for = lambda key: replace(planned(key), dial=lambda: Staged(on_call, on_list))
        yield runtime.session("alice", "s-1")
