"""Servers that write down every byte they get, over pipes and over HTTP, so that a test can look for what must not be
among it."""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from bascule.config import ServerConfig, StreamableHttpTransport
from servers.scripted import UNKNOWN, USUAL
from support.http_servers import Asked, RawServer, event, http_reply, raw_server, stream_head
from support.runtime import TIMEOUTS
from support.scenarios import log_of, scripted
from support.servers import received
from support.waiting import until

Carrier = Literal["stdio", "http"]
CARRIERS = ("stdio", "http")

WORDS = "the-eagle-has-landed"
"""What must not get out."""

LABELS = "dev.bascule/labels"


def answer(*labels: Any, **fields: Any) -> dict[str, Any]:
    """An answer to a call, which holds the words, and says this of itself."""
    meta = {"_meta": {LABELS: [*labels]}} if labels else {}
    return {"result": {"content": [{"type": "text", "text": WORDS}], "resultType": "complete", **meta, **fields}}


def progress(message: str, number: int = 1) -> str:
    """A line that tells of progress in the request under way."""
    told = {"progressToken": "$TOKEN", "progress": number, "message": message}
    line = json.dumps({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})
    return line.replace('"$TOKEN"', "$TOKEN")


@dataclass
class Spy:
    """One server that writes down what it gets."""

    config: ServerConfig
    _log: Path | None = None
    _http: RawServer | None = None

    @property
    def heard(self) -> bytes:
        """Every byte it ever got."""
        if self._http is not None:
            return b"\n".join(
                b"\n".join((asked.path.encode(), repr(asked.headers).encode(), asked.body))
                for asked in self._http.asked
            )
        return self._log.read_bytes() if self._log is not None and self._log.exists() else b""

    @property
    def messages(self) -> list[dict[str, Any]]:
        if self._http is not None:
            return [asked.message for asked in self._http.asked if asked.body]
        return received(self._log) if self._log is not None else []

    def asked(self, method: str) -> list[dict[str, Any]]:
        """The parameters of every request of a kind."""
        return [message.get("params", {}) for message in self.messages if message.get("method") == method]

    async def until_asked(self, method: str, times: int = 1) -> None:
        await until(lambda: len(self.asked(method)) >= times)


@dataclass
class _OverHttp:
    """Answers by a scenario, as `servers/scripted.py` does over pipes. Here an answer may also have a `status` with a
    `body`, of HTTP alone, and be `silent` after what it says."""

    scenario: dict[str, Any]
    _asked: Counter[str] = field(default_factory=Counter[str])

    async def __call__(self, asked: Asked, writer: asyncio.StreamWriter) -> None:
        message = asked.message if asked.body else {}
        if "id" not in message or "method" not in message:
            writer.write(http_reply(b"", "202 Accepted") if message else http_reply(b"", "405 Method Not Allowed"))
            return
        method = message["method"]
        answers = {**USUAL, **self.scenario}.get(method, UNKNOWN)
        given = answers[min(self._asked[method], len(answers) - 1)]
        self._asked[method] += 1
        await self._give(given, message, writer)

    async def _give(self, given: dict[str, Any], message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        token = message["params"].get("_meta", {}).get("progressToken")
        said = [
            line.replace("$ID", json.dumps(message["id"])).replace("$TOKEN", json.dumps(token)).encode()
            for line in given.get("say", [])
        ]
        body = {key: given[key] for key in ("result", "error") if key in given}
        reply = json.dumps({"jsonrpc": "2.0", "id": message["id"], **body}).encode()
        if "exit" in given:
            writer.transport.abort()
        elif "status" in given:
            writer.write(http_reply(given["body"].encode(), given["status"], "text/plain"))
        elif said and (body or "silent" in given):
            writer.write(stream_head() + b"".join(map(event, (*said, *([reply] if body else [])))))
            await writer.drain()
            await self._end(given, writer)
        elif said or body:
            writer.write(http_reply(b"\n".join(said) or reply))
        else:
            await self._end({"silent": True}, writer)

    async def _end(self, given: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if "silent" in given:
            await asyncio.get_running_loop().create_future()
        writer.close()


@asynccontextmanager
async def spying(
    carrier: str, folder: Path, scenario: dict[str, Any] | None = None, *, name: str = "loose", **config: Any
) -> AsyncGenerator[Spy]:
    """A server that answers by a scenario. It has neither a twin nor anybody who vouches for it, unless `config` says
    so."""
    if carrier == "stdio":
        yield Spy(scripted(folder, scenario or {}, name=name, **config), log_of(folder, name))
        return
    async with raw_server(_OverHttp(scenario or {})) as server:
        config = {"timeouts": TIMEOUTS, **config}
        yield Spy(ServerConfig(name=name, transport=StreamableHttpTransport(server.url), **config), _http=server)
