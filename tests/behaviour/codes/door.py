"""Errors that a client of the gateway meets."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from behaviour.codes.table import raises
from support.gateways import AUTH, ask, serving
from support.kit_http import PREFIX, bearer, line_to
from support.offers import ELICIT, offering, required
from support.runtime import Events, obeying
from support.shown import answered, failed

MiB = 1024 * 1024


@raises("BSC-305")
async def no_token_is_shown(folder: Path) -> str:
    async with serving(obeying(folder / "log"), auth=AUTH) as gateway, line_to(gateway.port) as client:
        return answered(await ask(client, "tools/list"))


@raises("BSC-305")
async def a_token_is_too_old(folder: Path) -> str:
    async with serving(obeying(folder / "log"), auth=AUTH) as gateway, line_to(gateway.port) as client:
        return answered(await ask(client, "tools/list", Authorization=bearer("ada", exp=1_700_000_000)))


@raises("BSC-409")
async def a_server_asks_first(folder: Path) -> str:
    events = Events()
    server = offering(folder, scenario={"tools/call": [required(how=ELICIT)]})
    able = {"_meta": {f"{PREFIX}/clientCapabilities": {"elicitation": {"form": {}}}}}
    async with serving(server, events=events) as gateway, line_to(gateway.port) as client:
        answer = await ask(client, "tools/call", {"name": "work_act", "arguments": {}, **able})
    assert answer.message["result"]["resultType"] == "input_required"
    return failed(events.call.outcome)


@raises("BSC-716")
async def bodies_are_begun_and_never_ended(folder: Path) -> str:
    begun = {
        "Content-Length": str(8 * MiB),
        "Accept": "application/json, text/event-stream",
        "Authorization": bearer("ada"),
    }
    async with AsyncExitStack() as stack, serving(obeying(folder / "log"), auth=AUTH) as gateway:
        lines = [await stack.enter_async_context(line_to(gateway.port)) for _ in range(3)]
        asking = [asyncio.create_task(line.send(b"{", begun)) for line in lines]
        done, waiting = await asyncio.wait(asking, return_when=asyncio.FIRST_COMPLETED)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        return answered(await done.pop())


@raises("BSC-720")
async def a_message_is_too_long(folder: Path) -> str:
    async with serving(obeying(folder / "log"), message_max=100_000) as gateway, line_to(gateway.port) as client:
        return answered(await ask(client, "tools/call", {"name": "work_act", "arguments": {"text": "x" * 200_000}}))
