"""A store in which nothing stays."""

from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.audit.anchors import Anchor
from bascule.store.interface import KeptListing, ListingKey, Store
from bascule.store.levels.interface import LevelStore
from bascule.store.levels.position import Position
from bascule.store.null_store import Unkept
from bascule.store.owners import Member, OwnerStore


async def test_what_is_kept_there_is_gone():
    store: Store = Unkept()
    key = ListingKey("home", "open", "work")
    await store.open()
    await store.keep_listing(key, KeptListing("digest", {}))

    assert await store.listing(key) is None
    await store.close()


ALICE = Principal("alice", "s-1")
ASKED: dict[str, Callable[[LevelStore], Coroutine[Any, Any, Any]]] = {
    "begin": lambda levels: levels.begin(ALICE, 1.0),
    "raise_level": lambda levels: levels.raise_level(ALICE, DataSensitivity.SECRET, Cause("label"), 1.0),
    "lower_level": lambda levels: levels.lower_level(ALICE, DataSensitivity.PUBLIC, Cause("operator"), 1.0),
    "end_session": lambda levels: levels.end_session(ALICE, Cause("operator"), 1.0),
    "sessions": lambda levels: levels.sessions(),
    "receipts": lambda levels: levels.receipts(),
    "complete_receipt": lambda levels: levels.complete_receipt(1, (), {}, ""),
    "register": lambda levels: levels.register("one", 1.0),
    "poll": lambda levels: levels.poll("one", Position()),
    "acknowledge": lambda levels: levels.acknowledge("one", Position()),
    "laggards": lambda levels: levels.laggards(Position()),
    "leave": lambda levels: levels.leave("one", 1.0),
    "position": lambda levels: levels.position(),
    "strike": lambda levels: levels.strike(("one",), Position()),
    "rung": lambda levels: levels.rung(),
}


@pytest.mark.parametrize("name", ASKED)
async def test_nobody_has_a_level_that_is_not_kept(name: str):
    with pytest.raises(StoreError, match="no level is kept here"):
        await ASKED[name](Unkept().levels)


def test_ringing_there_wakes_nobody_and_fails_nobody():
    Unkept().levels.ring()


async def test_no_anchor_is_kept_there():
    anchors = Unkept().anchors

    assert not await anchors.keep(Anchor("w", 1, "", 1.0), b"sealed")
    assert await anchors.sealed() == {}


OWNED: dict[str, Callable[[OwnerStore], Coroutine[Any, Any, Any]]] = {
    "secret": lambda owners: owners.secret(),
    "join": lambda owners: owners.join(Member("one", "")),
    "renew": lambda owners: owners.renew(Member("one", "")),
    "claim": lambda owners: owners.claim(ALICE, "one"),
    "release": lambda owners: owners.release("one", (ALICE,)),
    "leave": lambda owners: owners.leave("one"),
}


@pytest.mark.parametrize("name", OWNED)
async def test_nobody_shares_what_is_not_kept(name: str):
    with pytest.raises(StoreError):
        await OWNED[name](Unkept().owners)
