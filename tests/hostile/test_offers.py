"""Servers that misbehave with what they offer beside tools, or ask more than anyone can answer."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from bascule.config.model.runtime_config import MESSAGE_MAX
from bascule.core.client_features import Accept, Elicitation
from bascule.core.outcome import FailureKind
from hostile.cage import neighbour, undisturbed
from support.memory import measured_growth
from support.offers import offering, result
from support.runtime import at_work, bad, good, stand_in, well


async def test_a_thousand_questions_of_one_server_at_once_are_answered_a_few_at_a_time():
    at_once: list[int] = []
    asked = 0

    async def slowly(_: Elicitation) -> Accept:
        nonlocal asked
        asked += 1
        at_once.append(asked)
        await asyncio.sleep(0.01)
        asked -= 1
        return Accept()

    working = at_work(stand_in("work", "pestering"), neighbour(), on_elicit=slowly)
    async with working as session, undisturbed(session):
        counted = good(await session.call("work_pester", {"number": 1000})).structured

    assert max(at_once) <= 16
    assert counted["accepted"] == len(at_once)
    assert counted["accepted"] + counted["refused"] == 1000


BAD_LISTINGS: dict[str, tuple[str, dict[str, Any], str]] = {
    "endless": ("prompts/list", result(prompts=[{"name": "p$N"}], nextCursor="$N"), "more than 1,000 pages"),
    "one cursor": ("prompts/list", result(prompts=[], nextCursor="x"), "same cursor twice"),
    "many": ("resources/list", result(resources=[{"uri": f"a://{n}"} for n in range(25_000)]), "more than 20,000"),
    "no list": ("resources/templates/list", result(resourceTemplates={"a": 1}), "has no list"),
}


@pytest.mark.parametrize(("method", "page", "says"), BAD_LISTINGS.values(), ids=BAD_LISTINGS)
@pytest.mark.long
async def test_a_bad_listing_is_a_problem_of_its_own(tmp_path: Path, method: str, page: dict[str, Any], says: str):
    bad_server = offering(tmp_path, name="bad", scenario={method: [page]})
    good_server = offering(tmp_path, name="good", uris=("a://1",), prompts=({"name": "greet"},))
    with measured_growth() as growth:
        async with at_work(bad_server, good_server, neighbour()) as session:
            await session.connect()
            async with undisturbed(session):
                library = await session.library()
            assert well(await session.read("a://1")).server == "good"

    assert [spec.name for spec in library.prompts] == ["good_greet"]
    assert [problem for problem in library.problems if says in problem]
    assert growth.peak < 2 * MESSAGE_MAX


@pytest.mark.long
async def test_templates_made_to_be_slow_are_not(tmp_path: Path):
    bombs = (*(f"a://{'x{v}' * 60}{number}" for number in range(2000)), "a://{+a}{+b}{+c}{+d}{+e}!")
    server = offering(tmp_path, name="bad", templates=bombs)
    async with at_work(server, neighbour()) as session:
        await session.connect()
        async with undisturbed(session):
            failure = bad(await session.read("a://" + "xy" * 500), FailureKind.UNKNOWN_TOOL)

    assert "`server`" in failure.fix


async def test_a_resource_nobody_should_fetch_is_fetched_by_nobody(tmp_path: Path):
    """The URI of a resource goes to its server, as text, and nowhere else."""
    caught: list[Any] = []
    async with await asyncio.start_server(lambda *streams: caught.append(streams), "127.0.0.1", 0) as trap:
        uri = f"http://127.0.0.1:{trap.sockets[0].getsockname()[1]}/secret"
        async with at_work(offering(tmp_path, uris=(uri, "file:///etc/passwd"))) as session:
            assert well(await session.read(uri)).text == "of work"
            assert well(await session.read("file:///etc/passwd")).text == "of work"

    assert caught == []
