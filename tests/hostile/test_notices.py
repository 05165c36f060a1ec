"""Servers that tell of changes without end, or make a mockery of being asked for them: little work comes of it."""

import asyncio
import gc
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import pytest

from bascule.config import ServerConfig, StdioTransport, StreamableHttpTransport
from bascule.config.model.runtime_config import MESSAGE_MAX
from bascule.config.model.transport import Transport
from bascule.core.events import CatalogChanged, RefreshFailed
from bascule.core.outcome import FailureKind
from bascule.upstream.state import LinkState
from hostile.cage import PATIENT, neighbour, started, undisturbed
from support.memory import measured_growth
from support.runtime import Events, at_work, bad, good
from support.servers import argv

Carrier = Literal["stdio", "http"]
WATCHED = 1.5
"""Seconds for which the noise is listened to."""

MOST_LISTS = 6
"""How often the tools may be listed in that time: at first, at once, and then with pauses that double."""

MOST_LISTENED = 3
"""How often the long request may be made in that time: at first, and after one second."""

FLOODS = [("old", "flood"), ("old", "restless"), ("new", "flood"), ("new", "restless"), ("new", "echoes")]
MOCKERIES = ["deaf", "fickle", "cross"]


@pytest.fixture(autouse=True, scope="module")
def libraries_are_there() -> None:
    """The time that looking through all of them for garbage takes is not the server's."""
    for name in ("aiohttp", "jsonschema_rs"):
        import_module(name)
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def noisy(carrier: Carrier, era: str, way: str, folder: Path) -> AsyncGenerator[ServerConfig]:
    program, *arguments = argv("noisy", carrier, era, way)
    if carrier == "stdio":
        yield a_server(StdioTransport(program, tuple(arguments)))
        return
    async with started(program, *arguments, folder=str(folder)) as url:
        yield a_server(StreamableHttpTransport(url))


def a_server(transport: Transport) -> ServerConfig:
    return ServerConfig("noisy", transport, timeouts=PATIENT)


class Few(Events):
    """Keeps what is asked about, and not the thousands of calls: looking through those for garbage takes long."""

    def append(self, event: Any) -> None:
        if isinstance(event, CatalogChanged | RefreshFailed):
            super().append(event)


class Watched:
    """What a server was asked in the time it was watched, and what was told of it."""

    asked: dict[str, int]
    events: Events
    growth: int


async def watched(carrier: Carrier, era: str, way: str, folder: Path) -> Watched:
    seen = Watched()
    seen.events = Few()
    async with noisy(carrier, era, way, folder) as server:
        async with at_work(server, neighbour(), events=seen.events) as session:
            await session.connect()
            with measured_growth() as growth:
                async with undisturbed(session):
                    await asyncio.sleep(WATCHED)
            outcome = good(await session.call("noisy_counted"))
            assert [report.state for report in session.servers()] == [LinkState.READY] * 2
        seen.asked, seen.growth = json.loads(outcome.raw["content"][0]["text"]), growth.peak
    return seen


@pytest.mark.parametrize("carrier", ["stdio", "http"])
@pytest.mark.parametrize(("era", "way"), FLOODS)
@pytest.mark.long
async def test_a_flood_of_notices_makes_a_handful_of_listings(carrier: Carrier, era: str, way: str, tmp_path: Path):
    seen = await watched(carrier, era, way, tmp_path)

    least = 1 if way == "echoes" else 2
    assert least <= seen.asked["tools/list"] <= MOST_LISTS, seen.asked
    assert seen.asked.get("subscriptions/listen", 0) == (1 if era == "new" else 0)
    assert seen.growth <= 2 * MESSAGE_MAX
    changes = [event for event in seen.events if isinstance(event, CatalogChanged) and event.server == "noisy"]
    assert len(changes) <= (MOST_LISTS if way == "restless" else 1)


@pytest.mark.parametrize("carrier", ["stdio", "http"])
@pytest.mark.parametrize("way", MOCKERIES)
@pytest.mark.long
async def test_a_server_that_does_not_let_us_listen_is_asked_a_few_times(carrier: Carrier, way: str, tmp_path: Path):
    seen = await watched(carrier, "new", way, tmp_path)

    assert 1 <= seen.asked["subscriptions/listen"] <= MOST_LISTENED, seen.asked
    assert 1 <= seen.asked["tools/list"] <= MOST_LISTS, seen.asked


@pytest.mark.long
@pytest.mark.parametrize("carrier", ["stdio", "http"])
@pytest.mark.parametrize("era", ["old", "new"])
async def test_a_server_that_calls_for_a_look_and_then_says_nothing_keeps_its_tools(
    carrier: Carrier, era: str, tmp_path: Path
):
    seen = await watched(carrier, era, "stuck", tmp_path)

    assert seen.asked["tools/list"] == 2
    assert [event for event in seen.events if isinstance(event, RefreshFailed)] == []


async def test_unknown_names_do_not_make_a_server_list_again_and_again(tmp_path: Path):
    async with noisy("stdio", "new", "deaf", tmp_path) as server, at_work(server) as session:
        for number in range(200):
            bad(await session.call(f"noisy_{number}"), FailureKind.UNKNOWN_TOOL)
        asked = json.loads(good(await session.call("noisy_counted")).raw["content"][0]["text"])

    assert asked["tools/list"] == 1
