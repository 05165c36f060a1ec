"""An agent that looks something up, reads a private file, and then tries to send what it has read. Tells what became of
each step, a line of JSON each: `python story_agent.py CONFIG URL FILE`."""

import asyncio
import json
import sys

import bascule


async def main(config: str, url: str, file: str) -> None:
    async with bascule.Runtime.from_file(config) as runtime:
        session = runtime.session(user_id="alice", session_id="s-1")
        tell("looked up", await session.call("web_fetch", {"url": f"{url}/before", "raw": True}), session)
        read = await session.call("files_read_text_file", {"path": file})
        tell("read", read, session)
        sent = await session.call("web_fetch", {"url": f"{url}/take/{said(read).strip()}", "raw": True})
        tell("sent", sent, session)
        tell("read again", await session.call("files_read_text_file", {"path": file}), session)
        for receipt in session.receipts:
            print(json.dumps({"step": "receipt", "twins": dict(receipt.twins), "closed": list(receipt.closed)}))


def said(outcome: bascule.Outcome) -> str:
    return outcome.text if isinstance(outcome, bascule.ToolResult) else f"{outcome.message}\n{outcome.evidence}"


def tell(step: str, outcome: bascule.Outcome, session: bascule.AgentSession) -> None:
    told = {"step": step, "ok": outcome.ok, "lane": outcome.lane, "text": said(outcome)}
    print(json.dumps({**told, "level": session.sensitivity.name}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
