"""An agent's side: the same tools, by a runtime that reads `bascule.yaml`. Run it in this folder."""

import asyncio

from bascule import Runtime, ToolResult


async def main() -> None:
    async with Runtime.from_file("bascule.yaml") as runtime:
        session = runtime.session(user_id="ada", session_id="from-python")
        for tool, arguments in (
            ("records_write_file", {"path": "plan.txt", "text": "Ask Bob."}),
            ("records_order", {"number": 501}),
            ("records_look_up", {"host": "localhost"}),
            ("records_salaries", {}),
            ("records_read_file", {"path": "plan.txt"}),
            ("records_look_up", {"host": "localhost"}),
        ):
            outcome = await session.call(tool, arguments)
            told = outcome.text if isinstance(outcome, ToolResult) else f"{outcome.kind}: {outcome.message}"
            print(f"[{session.sensitivity.name}, {outcome.lane}] {tool}: {told}")


asyncio.run(main())
