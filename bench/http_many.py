"""Bare ASGI app with many MCP servers of the new era: one at each path, with ten tools."""

from typing import Any

from bench import http_echo

TOOLS = 10
NAMES = [f"echo{number}" for number in range(TOOLS)]
LISTED = {"tools": [{**http_echo.TOOL, "name": name} for name in NAMES], **http_echo.FRESH}


def answer(message: dict[str, Any]) -> dict[str, Any]:
    return LISTED if message["method"] == "tools/list" else http_echo.answer(message)


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    await http_echo.serve(scope, receive, send, answer)
