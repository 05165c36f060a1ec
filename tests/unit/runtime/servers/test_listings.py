"""What each server has listed, for whom."""

from pathlib import Path

from bascule.core.principal import Principal
from bascule.upstream.key import SHARED
from support.links import ALICE, BOB
from support.runtime import a_tool, obeying, roster_of, running


async def test_what_is_listed_for_one_is_not_shown_to_another(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        roster = roster_of(runtime)
        listings, version = roster.listings, roster.listings.version
        await roster.settle(ALICE, "work")

        assert listings.of(ALICE, "work") is listings.latest("work") is not None
        assert listings.of(BOB, "work") is None
        assert (listings.exposed(ALICE, "work"), listings.exposed(BOB, "work")) == (1, 0)
        assert listings.version > version
        assert "tools" in listings.capabilities_of(ALICE, "work")
        assert listings.capabilities_of(BOB, "work") == {}


async def test_who_shares_a_link_shares_what_it_lists(tmp_path: Path):
    async with running(obeying(tmp_path / "log", lifetime="shared", stateless=True)) as runtime:
        roster = roster_of(runtime)
        await roster.settle(ALICE, "work")

        assert roster.listings.whose(BOB, "work") == (SHARED, "work")
        assert roster.listings.of(BOB, "work") is roster.listings.of(ALICE, "work") is not None


async def test_the_same_listing_moves_nothing(tmp_path: Path):
    async with running(obeying(tmp_path / "log", a_tool("act"))) as runtime:
        roster = roster_of(runtime)
        await roster.settle(ALICE, "work")
        shown, version = roster.listings.of(ALICE, "work"), roster.listings.version
        await roster.anew(ALICE, "work")

        assert roster.listings.of(ALICE, "work") is shown
        assert roster.listings.version == version


async def test_what_was_known_of_a_server_can_be_forgotten(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        roster = roster_of(runtime)
        await roster.settle(ALICE, "work")
        edition = roster.listings.editions["work"]
        roster.listings.forget("work")

        assert roster.listings.of(ALICE, "work") is roster.listings.latest("work") is None
        assert roster.listings.editions["work"] == edition + 1
        assert roster.listings.toolbox(ALICE).specs() == ()


async def test_a_tool_that_is_gone_names_its_server_to_those_who_saw_it(tmp_path: Path):
    async with running(obeying(tmp_path / "log")) as runtime:
        listings = roster_of(runtime).listings

        assert listings.remover_of(Principal("carol", "s-3"), "work_act") is None
