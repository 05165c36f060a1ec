"""`bascule serve` with several workers, and clients that call on and on."""

import asyncio
import json
import signal
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp
import psutil

from support.command import started
from support.kit_http import NEW, OLD, PREFIX, bearer
from support.ports import free_port
from support.scenarios import write_yaml
from support.servers import received
from support.tokens import AUDIENCE, ISSUER, SECRET
from support.waiting import fail_after, until

AUTH = {"keys": [{"algorithm": "HS256", "secret": SECRET}], "issuer": ISSUER, "audience": AUDIENCE}
META = {f"{PREFIX}/protocolVersion": NEW, f"{PREFIX}/clientCapabilities": {}}
ACCEPT = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

CUT = (aiohttp.ClientError, ConnectionError)
"""What a client sees whose connection is gone."""


@dataclass
class Fleet:
    """One supervisor and its workers."""

    process: asyncio.subprocess.Process
    port: int
    path: Path
    lines: list[str] = field(default_factory=list)
    """What it said on stderr."""
    dashboard: str = ""
    """Where its dashboard opens."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def workers(self) -> list[psutil.Process]:
        with suppress(psutil.NoSuchProcess):
            children = psutil.Process(self.process.pid).children()
            return [child for child in children if _is_worker(child)]
        return []

    def start_anew(self) -> None:
        self.process.send_signal(signal.SIGUSR2)

    async def told(self, words: str) -> None:
        await until(lambda: any(words in line for line in self.lines), 60)


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "bascule.cli.serve.worker" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@asynccontextmanager
async def fleet(
    folder: Path, servers: dict[str, Any], *words: str, workers: int = 2, **top: Any
) -> AsyncGenerator[Fleet]:
    """While it runs. It has to end by itself, in order, when it is told to."""
    folder.mkdir(exist_ok=True)
    port = free_port()
    path = write_yaml(folder, servers, gateway={"port": port, "workers": workers, "auth": AUTH}, **top)
    async with started(folder, "serve", "--config", str(path), "--json", *words, anew=True) as process:
        made = Fleet(process, port, path)
        hearing = asyncio.ensure_future(_hear(process, made.lines))
        try:
            async with fail_after(90, "the start of workers"):
                assert process.stdout is not None
                line = await process.stdout.readline()
            assert line, made.lines
            assert json.loads(line)["workers"] == workers
            made.dashboard = json.loads(line)["dashboard"]
            yield made
            if process.returncode is None:
                process.send_signal(signal.SIGTERM)
                async with fail_after(60, "the end of workers"):
                    assert await process.wait() == 0, made.lines
        finally:
            await _end(made)
            await hearing


async def _hear(process: asyncio.subprocess.Process, lines: list[str]) -> None:
    assert process.stderr is not None
    while line := await process.stderr.readline():
        lines.append(line.decode())


async def _end(made: Fleet) -> None:
    """Whatever is left, also where a test has failed."""
    workers = made.workers()
    if made.process.returncode is None:
        made.process.kill()
        await made.process.wait()
    for worker in workers:
        with suppress(psutil.NoSuchProcess):
            worker.kill()
    await until(lambda: not any(worker.is_running() for worker in workers))


_numbers = count(1)


async def call(
    http: aiohttp.ClientSession,
    url: str,
    tool: str,
    arguments: dict[str, Any] | None = None,
    *,
    user: str = "alice",
    session: str = "s-1",
    new: bool = True,
    **headers: str,
) -> tuple[int, Any]:
    """One call of either era: the status, and the message that is the answer."""
    params: dict[str, Any] = {"name": tool, "arguments": arguments or {}}
    said = {**ACCEPT, "Authorization": bearer(user, session), **headers}
    if new:
        params["_meta"] = META
        said |= {"MCP-Protocol-Version": NEW, "Mcp-Method": "tools/call", "Mcp-Name": tool}
    return await post(http, url, {"method": "tools/call", "params": params}, said)


async def post(
    http: aiohttp.ClientSession, url: str, message: dict[str, Any], headers: dict[str, str]
) -> tuple[int, Any]:
    body = json.dumps({"jsonrpc": "2.0", "id": next(_numbers), **message}).encode()
    async with http.post(url, data=body, headers=headers) as answer:
        text = (await answer.read()).decode()
        if answer.content_type == "text/event-stream":
            text = [line[5:] for line in text.splitlines() if line.startswith("data:")][-1]
        return answer.status, json.loads(text) if text else None


async def begun(http: aiohttp.ClientSession, url: str, user: str = "alice") -> dict[str, str]:
    """A session of the old era. Gives the headers that go on with it."""
    params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    body = json.dumps({"jsonrpc": "2.0", "id": next(_numbers), "method": "initialize", "params": params})
    said = {**ACCEPT, "Authorization": bearer(user)}
    async with http.post(url, data=body, headers=said) as answer:
        assert answer.status == 200, await answer.text()
        return {"Mcp-Session-Id": answer.headers["mcp-session-id"], "MCP-Protocol-Version": OLD}


def ending(status: int, message: Any) -> str:
    """How a call has ended, in a word: `ok`, the kind of its failure, or the status of HTTP."""
    if status != 200:
        return str(status)
    result = message.get("result")
    if result is None:
        return f"error {message['error']['code']}"
    if not result.get("isError"):
        return "ok"
    return result["_meta"]["dev.bascule/failure"]["kind"]


class Load:
    """Clients that call until they are told to stop. Each call is marked, and none is made twice."""

    def __init__(self, url: str, tool: str = "work_act", *, clients: int = 8, users: int = 4) -> None:
        self._url = url
        self._tool = tool
        self._clients = clients
        self._users = users
        self._stopped = False
        self.ends = Counter[str]()
        self.seconds: list[float] = []

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """For the length of the block; every call that was begun is waited for."""
        callers = [asyncio.ensure_future(self._call_on(number)) for number in range(self._clients)]
        try:
            yield
            self._stopped = True
            async with fail_after(60, "the end of the last calls"):
                await asyncio.gather(*callers)
        finally:
            for caller in callers:
                caller.cancel()
            await asyncio.wait(callers)

    async def goes_on(self, calls: int = 50) -> None:
        """Until so many more have gone well."""
        enough = self.ends["ok"] + calls
        await until(lambda: self.ends["ok"] >= enough, 60)

    async def _call_on(self, number: int) -> None:
        loop = asyncio.get_running_loop()
        async with aiohttp.ClientSession() as http:
            while not self._stopped:
                mark = {"mark": f"m{next(_numbers)}."}
                began = loop.time()
                try:
                    end = ending(*await call(http, self._url, self._tool, mark, user=f"user-{number % self._users}"))
                except CUT:
                    end = "cut"
                self.ends[end] += 1
                self.seconds.append(loop.time() - began)


def twice(log: Path) -> list[str]:
    """The marks of calls that a server was asked for more than once."""
    calls = [message["params"] for message in received(log) if message.get("method") == "tools/call"]
    marks = Counter(str((each.get("arguments") or {}).get("mark")) for each in calls)
    return [mark for mark, times in marks.items() if times > 1 and mark != "None"]
