"""A twin in its server's place: the same tools, or none at all."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bascule.config import ServerConfig, StdioTransport
from bascule.core.errors import ConnectFailed, TwinDiffers
from bascule.core.sensitivity import Lane
from bascule.runtime.servers.registry import ORIGINAL, Roster
from bascule.runtime.servers.twins import is_twin
from bascule.upstream.key import LinkKey
from bascule.upstream.state import LinkState
from support.links import ALICE, BOB, a_key
from support.runtime import a_tool, obeying, roster_of, running, twinned
from support.servers import methods, pids

OPEN, SEALED = a_key("work"), a_key("work", Lane.SEALED)
ACT = a_tool("act", description="Acts.")


@asynccontextmanager
async def a_pair(folder: Path, *tools: Any, original: Any = (ACT,), **config: Any) -> AsyncGenerator[Roster]:
    """A server and its twin, which write to `original` and `twin` in the folder."""
    server = twinned(obeying(folder / "original", *original, **config), obeying(folder / "twin", *(tools or (ACT,))))
    async with running(server) as runtime:
        yield roster_of(runtime)


async def lease(roster: Roster, key: LinkKey) -> None:
    roster.links.give_back(await roster.lease(key))


async def test_what_agents_see_is_what_the_server_itself_lists(tmp_path: Path):
    async with a_pair(tmp_path, a_tool("act", description="Acts, sealed.")) as roster:
        await lease(roster, OPEN)
        shown = roster.listings.of(ALICE, "work")
        await lease(roster, SEALED)

        assert roster.listings.of(ALICE, "work") is shown
        assert roster._twinning.warnings == {"work": "its twin describes act in other words"}


async def test_a_warning_goes_with_its_reason(tmp_path: Path):
    async with a_pair(tmp_path) as roster:
        roster._twinning.warnings["work"] = "it was another one"
        await lease(roster, OPEN)
        await lease(roster, SEALED)
        assert roster._twinning.warnings == {}


async def test_a_twin_that_is_another_server_is_not_used(tmp_path: Path):
    async with a_pair(tmp_path, a_tool("act"), a_tool("more")) as roster:
        await lease(roster, OPEN)
        with pytest.raises(TwinDiffers) as caught:
            await lease(roster, SEALED)
        link = roster.links.find(SEALED)

        assert link is None or not link.usable
        assert caught.value.rule == "twin_is_the_same"
        assert "more: only the twin has it" in caught.value.evidence
        assert "command_isolated" in caught.value.fix
        assert [spec.key.tool for spec in roster.listings.toolbox(ALICE).specs()] == ["act"]


async def test_a_server_nobody_has_seen_is_looked_at_on_nobodys_behalf_and_let_go(tmp_path: Path):
    async with a_pair(tmp_path) as roster:
        await lease(roster, SEALED)

        assert methods(tmp_path / "original") == ["server/discover", "tools/list"]
        looked = roster.links.find(LinkKey("work", Lane.OPEN, ORIGINAL))
        assert looked is not None
        assert looked.condition.state is LinkState.CLOSED
        assert roster.links.find(OPEN) is None
        assert [spec.key.tool for spec in roster.listings.toolbox(ALICE).specs()] == ["act"]

        await lease(roster, a_key("work", Lane.SEALED, BOB))
        assert len(pids(tmp_path / "original")) == 1


async def test_where_the_server_cannot_be_seen_its_twin_cannot_be_compared(tmp_path: Path):
    server = twinned(ServerConfig("work", StdioTransport(str(tmp_path / "nothing"))), obeying(tmp_path / "twin", ACT))
    async with running(server) as runtime:
        with pytest.raises(ConnectFailed, match="the twin of work cannot be compared with the server itself") as caught:
            await lease(roster_of(runtime), SEALED)
    assert "since this runtime started" in caught.value.cause


async def test_what_is_behind_a_vouched_servers_other_lanes_is_the_server_itself(tmp_path: Path):
    async with a_pair(tmp_path) as roster:
        await lease(roster, OPEN)
        await lease(roster, SEALED)
        open_link, sealed = roster.links.find(OPEN), roster.links.find(SEALED)
        assert open_link is not None
        assert sealed is not None
        assert sealed.condition.state is LinkState.READY

        work = roster.servers["work"]
        assert not is_twin(open_link, work, boxed=False)
        assert is_twin(sealed, work, boxed=False)
        assert not is_twin(sealed, replace(work, isolated=None), boxed=False)
        assert is_twin(sealed, replace(work, isolated=None), boxed=True)
        assert not is_twin(open_link, work, boxed=True)
        assert not is_twin(sealed, None, boxed=False)
