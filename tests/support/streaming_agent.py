"""An agent with a call under way that holds a connection open, and then sees private data, when it is told to by a line on
stdin. Tells what became of all that, a line of JSON each: `python streaming_agent.py CONFIG ADDRESS`."""

import asyncio
import json
import sys
import time

import bascule
from bascule.core.sensitivity import DataSensitivity

LOOKS = 400
"""Times it is looked whether the connection is open."""

HOLDING = (
    "exec 3<>/dev/tcp/{}/80 && printf 'GET /' >&3 && echo held > /workspace/held.txt && "
    "while printf x >&3; do sleep 0.05; done"
)
"""A request whose first line never ends: the other end reads on, and answers nothing."""


async def main(config: str, address: str) -> None:
    async with bascule.Runtime.from_file(config) as runtime:
        session = runtime.session(user_id="alice", session_id="s-1")
        holding = {"argv": ["bash", "-c", HOLDING.format(address)], "timeout": 60}
        call = asyncio.create_task(session.call("box_run", holding))
        for _ in range(LOOKS):
            if (await session.call("box_read", {"path": "/workspace/held.txt"})).ok or call.done():
                break
            await asyncio.sleep(0.05)
        print(json.dumps({"step": "ended" if call.done() else "streaming"}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        began = time.perf_counter()
        raised = asyncio.create_task(session.add_private_dataset("payroll", DataSensitivity.SECRET))
        outcome = await call
        cut = time.perf_counter() - began
        await raised
        told = {"ok": outcome.ok, "lane": outcome.lane, "cut": cut, "raised": time.perf_counter() - began}
        print(json.dumps({"step": "raised", **told}), flush=True)
        kept = await session.call("box_read", {"path": "/workspace/held.txt"})
        again = await session.call("box_run", {"argv": ["bash", "-c", HOLDING.format(address)]})
        failed = isinstance(again, bascule.ToolResult) and again.structured["exit_code"] != 0
        told = {"kept": kept.ok, "lane": kept.lane, "no way": failed}
        print(json.dumps({"step": "after", **told}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
