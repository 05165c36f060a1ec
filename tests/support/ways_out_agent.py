"""Agent that has a hostile server try all ways out in each lane, as a program in the network namespace of the tests' machine.

    python -m support.ways_out_agent CONFIG PLAN

Prints one line of JSON for each pass through the corpus, and goes on when it reads a line."""

import asyncio
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import bascule
from bascule.core.client_features import Decline, Elicitation, Sampled, Sampling
from bascule.core.sensitivity import DataSensitivity

LEVELS = {"off": None, "proxied": DataSensitivity.CONFIDENTIAL, "sealed": DataSensitivity.SECRET}
FETCHED = {"uri", "url", "src", "href", "resourceUri", "websiteUrl"}
"""Fields from which a client takes an address that it opens or fetches by itself."""


def fetched(value: Any) -> Iterator[str]:
    """Addresses in a message, and pages with addresses in them."""
    if isinstance(value, dict):
        for key, part in value.items():
            if key in FETCHED and isinstance(part, str):
                yield part
        if str(value.get("mimeType", "")).startswith("text/html") and "text" in value:
            yield str(value["text"])
        if value.get("type") == "text" and "](" in str(value.get("text")):
            yield str(value["text"])
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in parts:
        yield from fetched(part)


class Client:
    """A client that notes all addresses it was given."""

    def __init__(self) -> None:
        self.given: list[str] = []

    def elicit(self, asked: Elicitation) -> Decline:
        self.given += [asked.url, *fetched(asked.raw)]
        return Decline()

    def sample(self, asked: Sampling) -> Sampled:
        self.given += fetched(asked.params)
        return Sampled("no", "none")

    # A listener for log messages.

    level = "debug"

    def at(self, server: str) -> None: ...

    def is_at(self, server: str) -> bool:
        return True

    def hear(self, server: str, params: Any) -> None:
        self.given += fetched(params)

    def take(self) -> list[str]:
        given, self.given = self.given, []
        return given


async def passed(session: Any, client: Client, plan: dict[str, Any], number: int) -> dict[str, Any]:
    """Tries every way once."""
    stage, tokens = plan["passes"][number]["stage"], plan["passes"][number]["tokens"]
    if (level := LEVELS[stage]) is not None and session.sensitivity < level:
        await session.add_private_dataset(f"data of {stage}", level)
    prefix, notes = "plain_" if stage == "off" else "", dict[str, str]()
    for name, server in plan["ways"].items():
        asked = {"way": name, "token": tokens[name], "to": plan["to"]}
        with session.heard_by(client):
            outcome = await session.call(f"{prefix}{server}_try_way", asked)
        if isinstance(outcome, bascule.ToolResult):
            client.given += fetched(outcome.raw)
            notes[name] = outcome.text
        else:
            client.given += fetched(outcome.cause)
            notes[name] = f"no: {outcome.message}"
    return {"notes": notes, "client": client.take(), "operator": sorted(session.datasets)}


async def main(config: str, plan: dict[str, Any]) -> None:
    client = Client()
    loop = asyncio.get_running_loop()
    async with bascule.Runtime.from_file(config, on_elicit=client.elicit, on_sample=client.sample) as runtime:
        session = runtime.session("alice", "s-1")
        for number, each in enumerate(plan["passes"]):
            print(json.dumps(await passed(session, client, plan, number)), flush=True)
            await loop.run_in_executor(None, sys.stdin.readline)
            prefix = "plain_" if each["stage"] == "off" else ""
            for server in ("auto", "mounts"):
                await session.call(f"{prefix}{server}_try_way", {"way": "release"})


def expose(plan: dict[str, Any]) -> None:
    """Gives this process a terminal, and a descriptor that its children inherit."""
    os.setsid()
    os.open(plan["to"]["terminal"], os.O_RDWR)
    os.set_inheritable(os.open(f"{plan['to']['outside']}/inherited", os.O_WRONLY), True)


if __name__ == "__main__":
    settings = json.loads(Path(sys.argv[2]).read_text())
    expose(settings)
    asyncio.run(main(sys.argv[1], settings))
