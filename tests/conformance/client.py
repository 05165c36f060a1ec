"""The client that the official suite judges: links to the server it is given, lists its tools and calls each once.

The suite starts it with the URL as the last argument. What a scenario wants beyond that is in its context.
"""

import asyncio
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

import aiohttp

from bascule import Accept, Runtime, Sampled
from bascule.config import OAuthSettings, ServerConfig, StreamableHttpTransport, Timeouts
from bascule.core.tool import ToolSpec

RETURN = "http://localhost:3000/callback"
DOCUMENT = "https://conformance-test.local/client-metadata.json"
"""The client of which the suite knows that it describes itself there."""

PATIENT = Timeouts(connect=80, probe=80, list=80, call=80)
"""The suite runs its scenarios all at once, and counts the time itself."""

STREAM_OPENS = 1
"""Seconds in which our stream for what the server says unasked is open. The scenario of broken streams gives the reply to a
call on whichever stream is opened next, be it that one, on which no reply belongs; then only the time is left to run out."""

SAMPLES: Mapping[str, Any] = {"string": "x", "integer": 5, "number": 3, "boolean": True, "object": {}, "array": []}


def arguments_for(tool: ToolSpec) -> dict[str, Any]:
    """The fewest arguments that the tool accepts."""
    properties, required = tool.input_schema.get("properties", {}), tool.input_schema.get("required", ())
    return {name: SAMPLES.get(properties.get(name, {}).get("type"), "x") for name in required}


def calls_for(tools: tuple[ToolSpec, ...], context: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """What is called with what: as the scenario wants it, else every tool once."""
    if "toolCalls" in context:
        # A null stands for an argument that is not given.
        return [(c["name"], {k: v for k, v in c["arguments"].items() if v is not None}) for c in context["toolCalls"]]
    schemas = {tool.key.tool: tool.input_schema for tool in tools}
    echoed = {"json_schema_echo": {"schema": schemas.get("json_schema_2020_12_tool")}}
    return [(tool.key.tool, echoed.get(tool.key.tool) or arguments_for(tool)) for tool in tools]


def oauth_for(scenario: str, context: Mapping[str, Any]) -> OAuthSettings:
    """Who we are to the login server, as far as the scenario says."""
    if "client-credentials" in scenario:
        return OAuthSettings(
            client_id=context["client_id"],
            client_secret=context.get("client_secret"),
            private_key=context.get("private_key_pem"),
            signing_algorithm=context.get("signing_algorithm", "RS256"),
            grant="client",
        )
    client_id = DOCUMENT if "cimd" in scenario else context.get("client_id")
    return OAuthSettings(client_id=client_id, client_secret=context.get("client_secret"), redirect_uri=RETURN)


async def visit(url: str) -> str | None:
    """What a browser does whose user says yes: where it is sent in the end."""
    async with aiohttp.ClientSession() as browser, browser.get(url, allow_redirects=False) as response:
        return response.headers.get("Location")


async def main(url: str, scenario: str, context: Mapping[str, Any]) -> None:
    oauth = oauth_for(scenario, context)
    transport = StreamableHttpTransport(url=url)
    server = ServerConfig(name="suite", transport=transport, prefix="", oauth=oauth, timeouts=PATIENT)
    async with Runtime.from_servers(
        {"suite": server}, on_elicit=lambda _: Accept(), on_sample=lambda _: Sampled("yes", "none"), on_login=visit
    ) as runtime:
        session = runtime.session("conformance", "1")
        calls = calls_for(await session.tools(), context)
        if scenario == "sse-retry":
            await asyncio.sleep(STREAM_OPENS)
        for name, arguments in calls:
            print(name, await session.call(name, arguments), file=sys.stderr)
        for resource in await session.resources():
            print(await session.read(resource.address), file=sys.stderr)
        for prompt in await session.prompts():
            print(await session.prompt(prompt.name, {a.name: "x" for a in prompt.arguments}), file=sys.stderr)
        for report in session.servers():
            print(report, file=sys.stderr)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as home:
        # Nothing of this machine's user is touched: neither their state nor their keyring.
        os.environ |= {"BASCULE_HOME": home, "PYTHON_KEYRING_BACKEND": "keyring.backends.fail.Keyring"}
        told = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
        asyncio.run(main(sys.argv[-1], os.environ.get("MCP_CONFORMANCE_SCENARIO", ""), told))
