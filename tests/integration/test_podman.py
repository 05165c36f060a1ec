"""The same servers in containers of podman, which speaks the same API in its own way."""

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest

from bascule.config import ContainerTransport
from bascule.core.errors import ConnectFailed, ConnectionLost
from integration.test_docker_exec import dispatcher_to, inside
from support.docker import Container, as_found, podman_engine
from support.servers import opened
from support.streams import a_request
from support.waiting import until

pytestmark = pytest.mark.long

EIGHT = 8 * 1000 * 1000


@pytest.fixture(scope="module")
def box() -> Iterator[Container]:
    with podman_engine() as engine, as_found(engine), engine.container() as container:
        yield container


async def test_calls_at_once_noise_and_a_long_result_each_arrive_whole(box: Container):
    dispatcher = dispatcher_to(inside(box.name, "loud"))
    told: list[str] = []
    dispatcher.on_line = lambda _pid, line: told.append(line)
    orders = [{"text": f"call {number}", "lines": 100} for number in range(10)] + [{"size": EIGHT}]
    async with opened(dispatcher):
        asked = (a_request("tools/call", 60.0, params={"name": "act", "arguments": order}) for order in orders)
        results = await asyncio.gather(*map(dispatcher.send, asked))
        await until(lambda: len(told) == 1000)
    texts = [result["content"][0]["text"] for result in results]
    assert texts == [f"call {number}" for number in range(10)] + ["x" * EIGHT]
    assert box.processes() == {}


async def test_a_server_that_is_killed_is_told_as_such(box: Container):
    async with opened(dispatcher_to(inside(box.name, "echo"))) as dispatcher:
        assert dispatcher.pid is not None
        os.kill(dispatcher.pid, signal.SIGKILL)
        reason = await asyncio.shield(dispatcher.lost)
    assert isinstance(reason, ConnectionLost)
    assert "ended by signal 9" in reason.message


async def test_a_program_that_is_missing_is_told_with_a_fix(box: Container):
    dispatcher = dispatcher_to(ContainerTransport(box.name, "no-such-program"))
    with pytest.raises(ConnectFailed) as caught:
        await dispatcher.open()
    await dispatcher.close(1.0)
    assert "no-such-program" in caught.value.message + caught.value.evidence
    assert caught.value.fix


@pytest.mark.parametrize("name", ["stubborn", "parent"])
async def test_closing_leaves_no_process_inside(box: Container, name: str):
    dispatcher = dispatcher_to(inside(box.name, name, *(["--far"] if name == "parent" else [])))
    async with opened(dispatcher):
        await until(lambda: len(box.processes()) == (2 if name == "parent" else 1))
    assert box.processes() == {}
