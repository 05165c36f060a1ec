"""Traffic generator of `bascule serve --demo`: demo agents, which call the gateway through a minimal MCP client over
HTTP. Some of their calls fail or are refused on purpose."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

import aiohttp

from bascule.core.json_types import JsonObject, as_object
from bascule.core.principal import Principal
from bascule.demo.reports import JINXED
from bascule.demo.showcase.config import MINUTES, SALARIES
from bascule.demo.story.stage import FILES, PRIVATE_FILE, PUBLIC_FILE
from bascule.wire.request_meta import CAPABILITIES_KEY, CLIENT_INFO_KEY, NEW_VERSIONS, VERSION_KEY

VERSION = NEW_VERSIONS[-1]


class Client:
    """Minimal MCP client over HTTP, in the era without a handshake: one request, one response. It calls tools at one
    URL, for the principal of its `Authorization` header."""

    def __init__(self, line: aiohttp.ClientSession, url: str, authorization: str, name: str) -> None:
        self._line = line
        self._url = url
        self._authorization = authorization
        self._meta = {
            VERSION_KEY: VERSION,
            CLIENT_INFO_KEY: {"name": name, "version": "1"},
            CAPABILITIES_KEY: {},
        }
        self._count = 0

    async def call(self, tool: str, arguments: Mapping[str, Any], patience: float) -> JsonObject:
        """The result of a call, or the error it was answered with. Raises `TimeoutError` and `aiohttp.ClientError`."""
        self._count += 1
        params = {"name": tool, "arguments": {**arguments}, "_meta": self._meta}
        body = {"jsonrpc": "2.0", "id": self._count, "method": "tools/call", "params": params}
        headers = {
            "Authorization": self._authorization,
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        limit = aiohttp.ClientTimeout(total=patience)
        async with self._line.post(self._url, json=body, headers=headers, timeout=limit) as answer:
            message = as_object(await answer.json(content_type=None))
        return as_object(message.get("result") or message.get("error"))


PATIENCE = 15.0
"""Seconds that an agent waits for an answer."""

LONG_PATIENCE = 45.0
"""The same where a person is asked first. Then the agent takes its call back."""

PAUSE = (0.6, 2.2)
"""Seconds between two calls of one agent: at least, and at most."""

REST = (8.0, 16.0)
"""The same between two rounds."""

RECEIVER = "RECEIVER"
"""Stands for the address of whoever can be sent to."""

Invited = Callable[[Principal], AbstractContextManager[str]]
"""Gives an agent session's `Authorization` header, for as long as a block lasts."""


@dataclass(frozen=True, slots=True)
class Deed:
    """One call."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    patience: float = PATIENCE


@dataclass(frozen=True, slots=True)
class Agent:
    """Does its deeds one after another, over and over."""

    user: str
    session: str
    deeds: tuple[Deed, ...]
    anew: bool = False
    """Whether each round is another agent session. What becomes private stays so, and there is no more to see of it."""


def _read(name: str) -> Deed:
    return Deed("files_read", {"name": name})


def _send(text: str) -> Deed:
    return Deed("post_send", {"to": RECEIVER, "text": text})


def _note(text: str) -> Deed:
    return Deed("notes_add", {"text": text})


AGENTS = (
    Agent(
        "ada",
        "menu",
        (
            Deed("files_list"),
            _read(PUBLIC_FILE),
            _note("The soup is leek."),
            _send(FILES[PUBLIC_FILE]),
            Deed("notes_search", {"word": "soup"}),
            _read("dessert.txt"),
            Deed("clock_now"),
        ),
    ),
    Agent(
        "ben",
        "ward",
        (
            _read(PUBLIC_FILE),
            _send(FILES[PUBLIC_FILE]),
            _read(MINUTES),
            _send("The bridge is painted in spring."),
            _read(PRIVATE_FILE),
            _note("Two patients today."),
            _send(FILES[PRIVATE_FILE]),
            _read(PUBLIC_FILE),
            Deed("notes_search", {"word": "patients"}),
        ),
        anew=True,
    ),
    Agent(
        "cleo",
        "reports",
        (
            Deed("reports_make", {"kind": "daily"}),
            Deed("reports_make", {"kind": "weekly"}),
            Deed("reports_make", {"kind": 7}),
            Deed("reports_make", {"kind": "monthly"}),
            Deed("reports_print", {"kind": "daily"}),
            Deed("reports_make", {"kind": "hourly"}),
            Deed("reports_make", {"kind": "yearly"}),
            Deed("reports_make", {"kind": JINXED}),
            Deed("clock_now"),
        ),
    ),
    Agent(
        "dan",
        "books",
        (
            Deed("ledger_search"),
            Deed("ledger_add", {"text": "Paint for the bridge: 120."}, LONG_PATIENCE),
            _read(SALARIES),
            Deed("ledger_add", {"text": "Salaries: 3."}, LONG_PATIENCE),
            _send("Salaries: 3."),
        ),
        anew=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Traffic:
    """Where agents come to, and how they go about it."""

    url: str
    invited: Invited
    receiver: str
    random: Random = field(default_factory=Random)
    pause: tuple[float, float] = PAUSE
    rest: tuple[float, float] = REST

    async def run(self, agents: tuple[Agent, ...] = AGENTS) -> None:
        """Until it is cancelled."""
        async with aiohttp.ClientSession() as line, asyncio.TaskGroup() as group:
            for agent in agents:
                group.create_task(self._work(line, agent), name=f"agent {agent.user}/{agent.session}")

    async def _work(self, line: aiohttp.ClientSession, agent: Agent) -> None:
        number = 0
        while True:
            number += 1
            named = f"{agent.session}-{number}" if agent.anew else agent.session
            with self.invited(Principal(agent.user, named)) as authorization:
                client = Client(line, self.url, authorization, f"demo-{agent.user}")
                for deed in agent.deeds:
                    await self._do(client, deed)
                    await asyncio.sleep(self.random.uniform(*self.pause))
            await asyncio.sleep(self.random.uniform(*self.rest))

    async def _do(self, client: Client, deed: Deed) -> None:
        given = {name: self.receiver if value == RECEIVER else value for name, value in deed.arguments.items()}
        # Whatever becomes of it is there to be seen at the gateway; an agent goes on.
        with suppress(TimeoutError, aiohttp.ClientError, ValueError):
            await client.call(deed.tool, given, deed.patience)
