"""A program that uses the runtime, and is killed: `host.py CONFIG`. It connects to all servers and says so, or never gets
that far."""

import asyncio
import sys

from bascule import Runtime


async def main(config: str) -> None:
    async with Runtime.from_file(config) as runtime:
        await runtime.session("alice", "s-1").connect()
        print("connected", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
