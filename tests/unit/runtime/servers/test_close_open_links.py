"""What a raise does to boxes."""

import asyncio
from collections.abc import Iterable
from typing import Any, cast

import pytest

from bascule.config import ServerConfig, StdioTransport
from bascule.config.model.runtime_config import Timeouts
from bascule.config.model.twin import Twin
from bascule.core.errors import ConnectFailed, SandboxError
from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import DataSensitivity, Lane
from bascule.runtime.servers.close_open_links import Tightening
from bascule.upstream.key import LinkKey
from bascule.upstream.link import Link
from bascule.upstream.pool import Pool

ALICE = Principal("alice", "s-1")


class Ending:
    """A link that is over when it is told so."""

    def __init__(self, server: str, ready_at: float | None = 1.0) -> None:
        self.key = LinkKey(server, Lane.OPEN, ALICE)
        self.ready_at = ready_at
        self.gone = asyncio.Event()
        self.remains: SandboxError | None = None

    async def over(self) -> None:
        await self.gone.wait()


class Roster:
    """Holds three servers, of which one has no box."""

    def __init__(self, twin: Twin = "lazy") -> None:
        limits = Timeouts(reconnect=0.05)
        made = {
            name: ServerConfig(name, StdioTransport("x"), twin=twin, timeouts=limits) for name in ("a", "b", "plain")
        }
        self.servers = made
        self.there: set[LinkKey] = set()
        self.opened: list[LinkKey] = []
        self.closed: list[LinkKey] = []
        self.trouble: dict[str, Any] = {}

    @property
    def links(self) -> Pool:
        return cast("Pool", self)

    async def close(self, keys: Iterable[LinkKey]) -> None:
        self.closed += keys

    def find(self, key: LinkKey) -> LinkKey | None:
        return key if key in self.there else None

    def boxed(self, server: ServerConfig) -> bool:
        return server.name != "plain"

    def key(self, principal: Principal, server: str, lane: Lane) -> LinkKey:
        return LinkKey(server, lane, principal)

    def lane(self, principal: Principal, server: str) -> Lane:
        del principal, server
        return Lane.SEALED

    async def ahead(self, key: LinkKey) -> bool:
        self.opened.append(key)
        if key.server in self.trouble:
            await self.trouble[key.server]()
        return False


def severed(*links: Ending) -> list[Link]:
    return cast("list[Link]", list(links))


async def test_it_is_waited_for_until_every_box_is_gone():
    tightening, first, second = Tightening(Roster()), Ending("a"), Ending("b")
    tightening.began(ALICE, severed(first, second))
    cutting = asyncio.create_task(tightening.cut())

    first.gone.set()
    done, _ = await asyncio.wait((cutting,), timeout=0.05)
    assert not done
    second.gone.set()
    await cutting
    await tightening.cut()  # nothing is left to be waited for


async def test_a_server_without_a_box_is_not_waited_for_and_nothing_is_made_for_it():
    roster = Roster()
    tightening = Tightening(roster)
    tightening.began(ALICE, severed(Ending("plain"), Ending("removed")))

    await tightening.cut()
    await tightening.make_again(ALICE)
    assert roster.opened == []


async def test_what_was_of_use_is_there_again_on_the_lane_that_is_left():
    roster = Roster()
    tightening = Tightening(roster)
    tightening.began(ALICE, severed(Ending("a"), Ending("b", ready_at=None)))

    await tightening.make_again(ALICE)
    await tightening.make_again(ALICE)
    assert roster.opened == [LinkKey("a", Lane.SEALED, ALICE)]


async def test_what_does_not_come_back_keeps_nobody_waiting_for_long():
    roster = Roster()

    async def fail() -> None:
        raise ConnectFailed("no")

    roster.trouble = {"a": fail, "b": asyncio.Event().wait}
    tightening = Tightening(roster)
    tightening.began(ALICE, severed(Ending("a"), Ending("b")))

    async with asyncio.timeout(5):
        await tightening.make_again(ALICE)
    assert [key.server for key in roster.opened] == ["a", "b"]


async def test_a_server_that_was_removed_meanwhile_is_not_made_again():
    roster = Roster()
    tightening = Tightening(roster)
    tightening.began(ALICE, severed(Ending("a")))
    del roster.servers["a"]

    await tightening.make_again(ALICE)
    assert roster.opened == []


def test_twins_that_are_wanted_ahead_are_those_of_every_tighter_lane_that_are_not_there_yet():
    roster = Roster("eager")
    tightening = Tightening(roster)
    proxied, sealed = (LinkKey("a", lane, ALICE) for lane in (Lane.PROXIED, Lane.SEALED))

    assert tightening.standby(ALICE, "a") == [proxied, sealed]
    roster.there = {proxied}
    assert tightening.standby(ALICE, "a") == [sealed]
    assert tightening.standby(ALICE, "plain") == []
    assert tightening.standby(Nobody("bascule", "start"), "a") == []
    assert Tightening(Roster()).standby(ALICE, "a") == []


def test_what_is_vouched_for_is_its_own_twin():
    roster = Roster("eager")
    roster.servers["a"] = ServerConfig("a", StdioTransport("x"), twin="eager", vouched=DataSensitivity.SECRET)
    assert Tightening(roster).standby(ALICE, "a") == []


async def test_a_sealed_start_is_tried_on_nobodys_behalf_and_leaves_no_link():
    roster = Roster()
    await Tightening(roster).prove_sealed("a")

    (key,) = roster.opened
    assert (key.server, key.lane) == ("a", Lane.SEALED)
    assert isinstance(key.principal, Nobody)
    assert roster.closed == [key]


async def test_a_box_that_may_still_run_is_told_once():
    tightening, first = Tightening(Roster()), Ending("a")
    first.remains = SandboxError("it does not end")
    tightening.began(ALICE, severed(first))
    first.gone.set()

    with pytest.raises(SandboxError, match="does not end"):
        await tightening.cut()
    await tightening.cut()
