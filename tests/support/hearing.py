"""Clients of the official SDK that hear what a gateway tells, and streams read by hand."""

import asyncio
import json
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Literal

from mcp import Client, StdioServerParameters
from mcp_types import EmptyResult, SetLevelRequest, SetLevelRequestParams, SubscribeRequest, SubscribeRequestParams

from bascule.config import ServerConfig, StdioTransport, StreamableHttpTransport
from servers.telling import Telling
from support.gateways import META
from support.http_servers import sdk_server
from support.kit_http import NEW
from support.runtime import TIMEOUTS
from support.servers import SERVERS
from support.waiting import fail_after, until
from support.warm import python

Era = Literal["old", "new"]
MODES: dict[Era, Any] = {"old": "legacy", "new": "2026-07-28"}
URI = "notes://one"
LISTEN = "subscriptions/listen"


@asynccontextmanager
async def telling(
    kind: Literal["stdio", "http"], era: Era, log: Path, name: str = "work", **config: Any
) -> AsyncGenerator[ServerConfig]:
    """A server that tells, spoken to in one era."""
    settings: dict[str, Any] = {"era": era, "timeouts": TIMEOUTS, **config}
    if kind == "stdio":
        transport = StdioTransport(command=python(), args=(str(SERVERS / "telling.py"), str(log)))
        yield ServerConfig(name, transport, **settings)
        return
    async with sdk_server(Telling(log).server) as url:
        yield ServerConfig(name, StreamableHttpTransport(url=url), **settings)


class Heard:
    """A client of the official SDK, and all that it was told."""

    def __init__(self, where: int | StdioServerParameters, era: Era, log_level: Any = None) -> None:
        self.era = era
        self.messages: list[Any] = []
        self.events: list[Any] = []
        self.logs: list[Any] = []
        self._stack = AsyncExitStack()
        self.client = Client(
            f"http://127.0.0.1:{where}/mcp" if isinstance(where, int) else where,
            mode=MODES[era],
            message_handler=self._hear,
            logging_callback=self._log,
            log_level=log_level,
        )

    async def _hear(self, message: Any) -> None:
        self.messages.append(message)

    async def _log(self, params: Any) -> None:
        self.logs.append(params)

    async def ask_for(self, level: Any) -> None:
        """Say, in the old era's way, how much is wanted of what servers remark."""
        await self.client.session.send_request(SetLevelRequest(params=SetLevelRequestParams(level=level)), EmptyResult)

    @property
    def changed(self) -> list[str]:
        """The kinds of lists that it was told have changed, in that order."""
        if self.era == "new":
            return [type(event).__name__.removesuffix("ListChanged").lower() for event in self.events]
        kinds = ("tools", "resources", "prompts")
        methods = {f"notifications/{kind}/list_changed": kind for kind in kinds}
        return [methods[message.method] for message in self.messages if getattr(message, "method", "") in methods]

    @property
    def updated(self) -> list[str]:
        if self.era == "new":
            return [event.uri for event in self.events if hasattr(event, "uri")]
        told = [each for each in self.messages if getattr(each, "method", "") == "notifications/resources/updated"]
        return [str(message.params.uri) for message in told]


@asynccontextmanager
async def hearing(
    where: int | StdioServerParameters, era: Era, *, uris: tuple[str, ...] = (), log_level: Any = None
) -> AsyncGenerator[Heard]:
    """A client that has looked at everything, and listens from then on: at a port, or of a command."""
    heard = Heard(where, era, log_level)
    async with fail_after(60, "a client that listens"), AsyncExitStack() as stack:
        client = await stack.enter_async_context(heard.client)
        await client.list_tools()
        await client.list_resources()
        await client.list_prompts()
        if era == "old":
            for uri in uris:
                await client.session.send_request(SubscribeRequest(params=SubscribeRequestParams(uri=uri)), EmptyResult)
        else:
            wanted = {f"{kind}_list_changed": True for kind in ("tools", "resources", "prompts")}
            stream = await stack.enter_async_context(client.listen(**wanted, resource_subscriptions=uris))
            heard.honored = stream.honored  # pyright: ignore[reportAttributeAccessIssue]

            async def read() -> None:
                async for event in stream:
                    heard.events.append(event)

            reading = asyncio.ensure_future(read())
            stack.callback(reading.cancel)
        yield heard


class EventStream:
    """A stream of events, read by hand."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self.status = 0
        self.head = ""
        self.comments = 0

    async def begin(self) -> None:
        async with fail_after(20, "the head of a stream"):
            self.head = (await self._reader.readuntil(b"\r\n\r\n")).decode()
        self.status = int(self.head.split()[1])

    async def next(self) -> Any:
        """The next message. None, once the stream has ended."""
        async with fail_after(20, "an event"):
            while line := await self._reader.readline():
                if line.startswith(b":"):
                    self.comments += 1
                if line.startswith(b"data: "):
                    return json.loads(line[6:])
                if line == b"0\r\n":
                    return None
        return None

    async def until_comments(self, count: int) -> None:
        async with fail_after(20, "a comment"):
            while self.comments < count and (line := await self._reader.readline()):
                self.comments += line.startswith(b":")


@asynccontextmanager
async def stream(port: int, ask: str, headers: dict[str, str], body: bytes = b"") -> AsyncGenerator[EventStream]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        usual = {"Host": f"127.0.0.1:{port}", "Accept": "application/json, text/event-stream"}
        given = {**usual, "Content-Length": str(len(body)), **headers}
        head = "\r\n".join([f"{ask} /mcp HTTP/1.1", *(f"{name}: {value}" for name, value in given.items()), "", ""])
        writer.write(head.encode() + body)
        made = EventStream(reader, writer)
        await made.begin()
        yield made
    finally:
        writer.close()


@asynccontextmanager
async def listened(port: int, headers: dict[str, str] | None = None, **wanted: Any) -> AsyncGenerator[EventStream]:
    """The long request of the new era, made by hand."""
    params = {"notifications": wanted, "_meta": META}
    body = json.dumps({"jsonrpc": "2.0", "id": "l-1", "method": LISTEN, "params": params}).encode()
    usual = {"Content-Type": "application/json", "MCP-Protocol-Version": NEW, "Mcp-Method": LISTEN}
    async with stream(port, "POST", {**usual, **(headers or {})}, body) as opened:
        yield opened


async def told(what: Callable[[], bool]) -> None:
    """Wait until a client was told."""
    await until(what, 30)
