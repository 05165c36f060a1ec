"""A small MCP server over HTTP that can be made hard to reach: by a token it wants, or by the certificate it shows."""

import socket
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Any

from aiohttp import web

CACHE = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}

Guard = Callable[[str], str | None]
"""Told the `Authorization` of a request; the `WWW-Authenticate` of the refusal, or None to let it in."""


@asynccontextmanager
async def guarded(tls: ssl.SSLContext | None = None, guard: Guard | None = None) -> AsyncGenerator[str]:
    """Serve one tool, `look`. Gives the URL."""

    async def answer(request: web.Request) -> web.Response:
        wanted = guard(request.headers.get("Authorization", "")) if guard is not None else None
        if wanted is not None:
            return web.Response(status=401, headers={"WWW-Authenticate": wanted})
        asked = await request.json()
        return web.json_response({"jsonrpc": "2.0", "id": asked["id"], "result": _result(asked["method"])})

    app = web.Application()
    app.router.add_post("/mcp", answer)
    runner = web.AppRunner(app, shutdown_timeout=1.0)
    await runner.setup()
    listener = socket.create_server(("127.0.0.1", 0))
    await web.SockSite(runner, listener, ssl_context=tls).start()
    port = listener.getsockname()[1]
    try:
        yield f"https://localhost:{port}/mcp" if tls is not None else f"http://127.0.0.1:{port}/mcp"
    finally:
        await runner.cleanup()


def _result(method: str) -> dict[str, Any]:
    if method == "server/discover":
        return {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **CACHE}
    return {"tools": [{"name": "look", "inputSchema": {"type": "object"}}], **CACHE}
