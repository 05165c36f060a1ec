"""Tests of the server: real calls in this process, on somebody's behalf. `pytest` runs them, without further set-up."""

import pytest
from bascule.testing import Calls
from bascule.testing.plugin import MakesClients

from server import mcp

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


async def test_what_is_written_can_be_read_by_nobody_else(bascule_client: MakesClients) -> None:
    async with bascule_client(mcp, user="ada", session="s-1") as ada:
        await ada.result("write_file", {"path": "plan.txt", "text": "Ask Bob."})

        assert "Ask Bob." in (await ada.result("read_file", {"path": "plan.txt"})).text
        assert not (await ada.of("bob").call("read_file", {"path": "plan.txt"})).ok


async def test_an_order_that_is_not_there_can_be_corrected(bascule_client: MakesClients) -> None:
    async with bascule_client(mcp) as client:
        failure = await client.failure("order", {"number": 501})

        assert (failure.retriable, failure.tool_code) == (True, "no_such_order")


async def test_booking_in_a_closed_year_ends_the_run(bascule_client: MakesClients) -> None:
    async with bascule_client(mcp) as client:
        assert (await client.failure("book", {"number": 1, "year": 2020})).kind == "fatal"
        await client.result("book", {"number": 1, "year": 2026})


async def test_all_orders_are_in_the_workspace_and_a_preview_is_shown(bascule_client: MakesClients) -> None:
    async with bascule_client(mcp) as client:
        shown = await client.result("orders")

        (saved,) = client.workspace.list("/workspace/results")
        assert len(shown.text) < saved.size


async def test_who_has_seen_the_salaries_cannot_reach_out(bascule_client: MakesClients, bascule_calls: Calls) -> None:
    async with bascule_client(mcp, user="ada") as ada:
        await ada.result("look_up", {"host": "localhost"})
        await ada.result("salaries")

        assert ada.sensitivity.name == "CONFIDENTIAL"
        assert (await ada.failure("look_up", {"host": "localhost"})).kind == "denied"
        assert bascule_calls.tools == ["look_up", "salaries", "look_up"]
