"""Many users at one server, each with a token of its own: the server repeats all that it has ever seen, and nobody is
told any."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from bascule.config import ServerConfig, StreamableHttpTransport
from bascule.core.outcome import ToolFailure
from support.http_servers import Asked, error_body, http_reply, raw_server, result_body
from support.runtime import Events, running

USERS = 70
KEPT = {"ttlMs": 0, "cacheScope": "private", "resultType": "complete"}
FOUND = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}, **KEPT}

PRINTING = """#!/bin/sh
printf '{"Authorization": "Bearer secret-token-of-%s-"}' "$BASCULE_USER"
"""


def telling(seen: list[str]) -> Any:
    """A server that answers each call with an error, in which all tokens stand that it was ever shown."""

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        message = json.loads(asked.body)
        match message["method"]:
            case "server/discover":
                body = result_body(message["id"], FOUND)
            case "tools/list":
                body = result_body(message["id"], {"tools": [{"name": "t", "inputSchema": {"type": "object"}}], **KEPT})
            case _:
                seen.append(asked.headers["authorization"])
                body = error_body(message["id"], -32000, f"I know {' '.join(seen)}", {"seen": seen})
        writer.write(http_reply(body))

    return answer


@pytest.mark.long
async def test_the_token_of_the_first_user_is_hidden_still_when_the_last_one_has_come(tmp_path: Path):
    script, seen, events = tmp_path / "print", list[str](), Events()
    script.write_text(PRINTING)
    script.chmod(0o755)
    async with raw_server(telling(seen)) as server:
        url = f"http://127.0.0.1:{server.port}/mcp"
        away = ServerConfig("away", StreamableHttpTransport(url), headers_command=(str(script),), era="new")
        async with running(away, events=events, within=120) as runtime:
            told = [await runtime.session(f"user-{number}", "s").call("away_t") for number in range(USERS)]

    assert len({*seen}) == USERS
    assert all(isinstance(failure, ToolFailure) and "I know ***" in failure.message for failure in told)
    assert "secret-token-of-" not in repr((told, list(events)))
