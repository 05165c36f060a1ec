"""The model's API as the CLI of the Claude Agent SDK asks it, on this machine alone: it says what a test thought out."""

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from aiohttp import web

from support.bridge_matrix import Call

MODEL = "claude-made-up"
SERVER = "tools"

NOWHERE = "http://127.0.0.1:9"
"""A proxy that is not there, for whatever the CLI would ask of anybody else."""

BIG = 64 * 1024 * 1024
"""Bytes of a request: the CLI sends all of a conversation with each."""


class FakeClaude:
    """Makes these calls, one after the other, and then says that it is done. `asked` is all it was asked."""

    def __init__(self, calls: Sequence[Call]) -> None:
        self._calls = calls
        self.asked: list[dict[str, Any]] = []
        self.origin = ""

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The results it was shown of its calls."""
        return results(max((body["messages"] for body in self.asked), key=len, default=[]))

    @property
    def tools(self) -> list[list[str]]:
        """The tools of ours that it was told of, request by request."""
        prefix = f"mcp__{SERVER}__"
        named = [[tool["name"] for tool in body.get("tools", [])] for body in self.asked]
        return [[name.removeprefix(prefix) for name in names if name.startswith(prefix)] for names in named]

    def environment(self, folder: Path) -> dict[str, str]:
        """Of a CLI that knows of nobody else, and keeps what it keeps in this folder."""
        return {
            "ANTHROPIC_BASE_URL": self.origin,
            "ANTHROPIC_API_KEY": "made-up",
            "ANTHROPIC_AUTH_TOKEN": "",
            "CLAUDE_CODE_OAUTH_TOKEN": "",
            "HOME": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "CLAUDE_CONFIG_DIR": str(folder / "claude"),
            "CLAUDE_CODE_TMPDIR": str(folder),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "DISABLE_AUTOUPDATER": "1",
            # It lives for a second: to compile the most used parts of it anew takes longer than it saves.
            "BUN_JSC_useDFGJIT": "0",
            "HTTP_PROXY": NOWHERE,
            "HTTPS_PROXY": NOWHERE,
            "NO_PROXY": "127.0.0.1",
        }

    def options(self, folder: Path) -> dict[str, Any]:
        """What every agent in a test is made with."""
        return {
            "model": MODEL,
            "system_prompt": "Do as you are told.",
            "setting_sources": [],
            "cwd": folder,
            "env": self.environment(folder),
        }

    async def answer(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.asked.append(body)
        call = self.next_call(body)
        if call is None:
            said = _events({"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}, "end_turn")
        else:
            block = {"type": "tool_use", "id": f"call_{len(self.asked)}", "name": call[0], "input": {}}
            said = _events(block, {"type": "input_json_delta", "partial_json": json.dumps(call[1])}, "tool_use")
        # The CLI takes what has the same id for parts of one message.
        said[0]["message"]["id"] = f"msg_{len(self.asked)}"
        stream = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in said)
        return web.Response(text=stream, content_type="text/event-stream")

    def next_call(self, _body: dict[str, Any]) -> Call | None:
        """By the CLI's name for the tool."""
        made = len(self.shown)
        return None if made >= len(self._calls) else (f"mcp__{SERVER}__{self._calls[made][0]}", self._calls[made][1])


def results(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results of calls that a conversation holds."""
    blocks = [block for message in messages for block in message["content"] if isinstance(block, dict)]
    return [block for block in blocks if block["type"] == "tool_result"]


def _events(block: dict[str, Any], delta: dict[str, Any], why: str) -> list[dict[str, Any]]:
    """One message with one block, as it is streamed."""
    message = {"type": "message", "role": "assistant", "model": MODEL, "content": [], "stop_reason": None}
    return [
        {"type": "message_start", "message": {**message, "usage": {"input_tokens": 1, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": why}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]


@asynccontextmanager
async def fake_claude(*calls: Call, kind: type[FakeClaude] = FakeClaude) -> AsyncGenerator[FakeClaude]:
    model = kind(calls)
    app = web.Application(client_max_size=BIG)
    app.router.add_post("/v1/messages", model.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        model.origin = f"http://127.0.0.1:{runner.addresses[0][1]}"
        yield model
    finally:
        await runner.cleanup()
