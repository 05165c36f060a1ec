"""A crowd at the gateway: everybody is connected at once, everybody is somebody else, and nobody is let down."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from support.gateways import AUTH, ask, introduced, line_to, serving
from support.kit_http import bearer
from support.runtime import obeying
from support.servers import received

CLIENTS = 100
CALLS = 5


@pytest.mark.long
async def test_a_hundred_clients_at_once_are_all_answered(tmp_path: Path, scale: int):
    count = CLIENTS * scale
    everybody = asyncio.Barrier(count)
    ended = Counter[object]()

    async def client(port: int, number: int) -> None:
        new = bool(number % 2)
        shown: dict[str, str | None] = {"Authorization": bearer(f"user-{number}")}
        async with line_to(port) as line:
            if not new:
                shown["Mcp_Session_Id"] = await introduced(line, Authorization=shown["Authorization"])
            await everybody.wait()
            for _ in range(CALLS):
                answer = await ask(line, "tools/call", {"name": "work_act"}, new=new, **shown)
                ended[answer.status, answer.message["result"].get("isError", False)] += 1

    log = tmp_path / "log"
    server = obeying(log, lifetime="shared", stateless=True)
    async with serving(server, auth=AUTH, within=60 + 30 * scale) as gateway:
        await asyncio.gather(*(client(gateway.port, number) for number in range(count)))
    assert ended == {(200, False): count * CALLS}
    # And each was carried out once.
    assert sum(message.get("method") == "tools/call" for message in received(log)) == count * CALLS
