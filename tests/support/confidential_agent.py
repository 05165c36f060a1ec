"""An agent that has seen confidential data, and asks for some addresses with curl in its box. Tells what it was
answered, as JSON: `python confidential_agent.py CONFIG URL …`."""

import asyncio
import json
import sys

import bascule
from bascule.core.events import HostAsked
from bascule.core.sensitivity import DataSensitivity


async def main(config: str, *urls: str) -> None:
    events: list[object] = []
    async with bascule.Runtime.from_file(config, sinks=(events.append,)) as runtime:
        session = runtime.session(user_id="alice", session_id="s-1")
        await session.add_private_dataset("payroll", DataSensitivity.CONFIDENTIAL)
        told: dict[str, object] = {}
        for url in urls:
            argv = ["curl", "--silent", "--max-time", "20", "--write-out", "\n%{http_code}", url]
            outcome = await session.call("box_run", {"argv": argv})
            told[url] = outcome.structured if isinstance(outcome, bascule.ToolResult) else outcome.message
    asked = [(event.host, event.refused) for event in events if isinstance(event, HostAsked)]
    print(json.dumps({"told": told, "asked": asked}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
