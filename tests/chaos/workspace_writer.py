"""Program under load, to be killed: `workspace_writer.py FIRST`. Calls of one agent session write two shared files and one
file each, many at once; every second fails. A line on the output reports each outcome once its caller has it."""

import asyncio
import itertools
import os
import sys
from collections.abc import Iterator
from typing import IO

from bascule import Runtime, ToolRetryError, tool
from bascule.core.principal import Principal
from bascule.workspace import current_workspace

ALICE = Principal("alice", "s-1")
AT_ONCE = 4
PARTS = 3
SLOT = 64
"""Bytes of the table that belong to one call."""
ROOM = 4096
"""Calls for which the table has room. It is large, so that its restore takes a while."""
OLD = b"old"


def part_of(number: int, part: int) -> bytes:
    return b"<%d.%d>" % (number, part)


def put(file: IO[bytes], data: bytes) -> None:
    file.write(data)
    file.flush()


@tool("write")
async def edit(number: int) -> str:
    """Appends to a log, writes into a table at a place of its own, and changes a file that no other call writes. Each write
    is one step in a thread, so that those of several calls alternate."""
    files = current_workspace()
    assert files is not None
    with (
        files.open("log", "ab") as log,
        files.open("table", "r+b") as table,
        files.open(f"own/{number}", "r+b") as own,
    ):
        table.seek(number * SLOT)
        for part in range(PARTS):
            # In another order each time: the last change of a failed call is now in one file, now in another.
            for file in [(log, table, own), (own, log, table), (own, table, log)][number % 3]:
                await asyncio.to_thread(put, file, part_of(number, part))
    if number % 2 == 0:
        raise ToolRetryError("no")
    return "done"


async def work(runtime: Runtime, numbers: Iterator[int]) -> None:
    session = runtime.session(ALICE.user_id, ALICE.session_id)
    for number in numbers:
        session.workspace.write_bytes(f"own/{number}", OLD)
        outcome = await session.call("work_edit", {"number": number})
        os.write(1, f"{number} {'kept' if outcome.ok else 'failed'}\n".encode())


async def main(first: int) -> None:
    numbers = itertools.count(first)
    async with Runtime.from_servers({"work": [edit]}) as runtime:
        files = runtime.session(ALICE.user_id, ALICE.session_id).workspace
        if not files.exists("table"):
            files.write_bytes("table", b"." * SLOT * ROOM)
        os.write(1, b"begun\n")
        await asyncio.gather(*(work(runtime, numbers) for _ in range(AT_ONCE)))


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))
