"""Load generator of the throughput benchmarks: wrk, which needs less CPU than the program that it measures."""

import asyncio
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import aiohttp

CONNECTIONS = 16
SECONDS = 2

KINDS = 10_000
"""Requests that are written before they are sent, and then sent in turn. No two that are under way have one id."""

ID = "@ID@"
"""What stands in a body in the place of its id."""

JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
VERSION = "io.modelcontextprotocol/protocolVersion"
META = {VERSION: "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}}
OLD = "2025-11-25"

LUA = """
local bodies, headers, made, sent = {%s}, {%s}, {}, 0
init = function()
    for id = 1, %d do
        local kind = (id - 1) %% #bodies + 1
        local body = string.gsub(bodies[kind], "%s", id)
        made[id] = wrk.format("POST", nil, headers[kind], body)
    end
end
request = function()
    sent = sent %% #made + 1
    return made[sent]
end
"""


@dataclass(frozen=True)
class Request:
    """One POST. Its answer is a good one if it has `hello` in it."""

    body: str
    headers: Mapping[str, str] = field(default_factory=lambda: dict(JSON))


def calling(tool: str) -> Request:
    """A call in the new era."""
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": tool}
    return Request(_call(tool, _meta=META), {**JSON, **headers})


async def calling_in_a_session(url: str, tool: str) -> Request:
    """A call in the old era, in a session that is begun for it."""
    client = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
    begin = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}
    begun = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    async with aiohttp.ClientSession(headers=JSON) as asking:
        async with asking.post(url, json=begin) as answer:
            session = {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": OLD}
        async with asking.post(url, json=begun, headers=session):
            pass
    return Request(_call(tool), {**JSON, **session})


def _call(tool: str, **params: object) -> str:
    asked = {"name": tool, "arguments": {"message": "hello"}, **params}
    body = json.dumps({"jsonrpc": "2.0", "id": ID, "method": "tools/call", "params": asked})
    return body.replace(f'"{ID}"', ID)


async def check(url: str, request: Request) -> None:
    """That what is counted are good answers: a failed call is told with 200 as well."""
    body = request.body.replace(ID, str(KINDS + 1))
    async with aiohttp.ClientSession() as client, client.post(url, data=body, headers=request.headers) as answer:
        said = await answer.text()
    if answer.status != 200 or "hello" not in said or re.search(r'"(error|isError)": ?(true|{)', said):
        raise RuntimeError(f"{url} does not answer as it should: {said}")


def script(path: Path, requests: Sequence[Request]) -> Path:
    """What wrk sends, in turn, again and again."""
    bodies = ", ".join(json.dumps(request.body) for request in requests)
    tables = (", ".join(f'["{name}"] = "{value}"' for name, value in each.headers.items()) for each in requests)
    headers = ", ".join(f"{{{table}}}" for table in tables)
    path.write_text(LUA % (bodies, headers, KINDS, ID))
    return path


async def asked(url: str, sends: Path) -> float:
    """Answers a second."""
    wrk = shutil.which("wrk")
    if wrk is None:
        raise SystemExit("wrk is not installed. On Debian: apt-get install wrk")
    argv = (wrk, "-t1", f"-c{CONNECTIONS}", f"-d{SECONDS}s", "-s", str(sends), url)
    process = await asyncio.create_subprocess_exec(*argv, stdout=asyncio.subprocess.PIPE)
    told, _ = await process.communicate()
    text = told.decode()
    if "Non-2xx" in text or "Socket errors" in text:
        raise RuntimeError(f"{url} does not answer as it should: {text}")
    found = re.search(r"Requests/sec:\s+([\d.]+)", text)
    assert found is not None, text
    return float(found[1])
