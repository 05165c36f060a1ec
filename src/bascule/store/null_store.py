"""Null store: keeps nothing, for servers that are only tried out."""

# ruff: noqa: ARG002 -- whatever is asked, the answer is the same

from collections.abc import Collection, Mapping
from typing import NoReturn

from bascule.core.errors import StoreError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.store.audit.anchors import Anchor
from bascule.store.interface import KeptListing, ListingKey
from bascule.store.levels.interface import MOST_RECEIPTS
from bascule.store.levels.position import Position
from bascule.store.owners import Member


class UnkeptLevels:
    """Nobody may have a level that is not kept: it would be PUBLIC again the next moment."""

    async def begin(self, principal: Principal, at: float) -> NoReturn:
        raise _unkept()

    async def raise_level(self, principal: Principal, level: DataSensitivity, cause: Cause, at: float) -> NoReturn:
        raise _unkept()

    async def lower_level(self, principal: Principal, level: DataSensitivity, cause: Cause, at: float) -> NoReturn:
        raise _unkept()

    async def end_session(self, principal: Principal, cause: Cause, at: float) -> NoReturn:
        raise _unkept()

    async def sessions(self) -> NoReturn:
        raise _unkept()

    async def receipts(self, principal: Principal | None = None, limit: int = MOST_RECEIPTS) -> NoReturn:
        raise _unkept()

    async def complete_receipt(
        self,
        number: int,
        closed: tuple[str, ...],
        twins: Mapping[str, str],
        fence: str,
    ) -> NoReturn:
        raise _unkept()

    async def position(self, number: int | None = None) -> NoReturn:
        raise _unkept()

    async def register(self, runtime: str, at: float, applied: Position | None = None) -> NoReturn:
        raise _unkept()

    async def poll(self, runtime: str, after: Position) -> NoReturn:
        raise _unkept()

    async def acknowledge(self, runtime: str, position: Position) -> NoReturn:
        raise _unkept()

    async def leave(self, runtime: str, at: float) -> NoReturn:
        raise _unkept()

    async def laggards(self, position: Position) -> NoReturn:
        raise _unkept()

    async def strike(self, runtimes: Collection[str], position: Position) -> NoReturn:
        raise _unkept()

    def ring(self) -> None:
        """There is nobody to wake up."""

    async def rung(self) -> NoReturn:
        raise _unkept()


class UnkeptAnchors:
    """There is no audit log of what is only tried, and so nothing to anchor."""

    async def keep(self, anchor: Anchor, sealed: bytes) -> bool:
        return False

    async def sealed(self) -> dict[str, object]:
        return {}


class UnkeptOwners:
    """Nobody is served from here, so nobody shares it."""

    async def secret(self) -> NoReturn:
        raise _unkept()

    async def join(self, member: Member) -> NoReturn:
        raise _unkept()

    async def renew(self, member: Member) -> NoReturn:
        raise _unkept()

    async def claim(self, principal: Principal, member: str, gone: str = "") -> NoReturn:
        raise _unkept()

    async def release(self, member: str, principals: Collection[Principal]) -> NoReturn:
        raise _unkept()

    async def leave(self, member: str) -> NoReturn:
        raise _unkept()


class Unkept:
    """Every listing is the first, and none is kept."""

    def __init__(self) -> None:
        self.levels = UnkeptLevels()
        self.anchors = UnkeptAnchors()
        self.owners = UnkeptOwners()

    async def open(self) -> None:
        """There is nothing to open."""

    async def close(self) -> None:
        """There is nothing to close."""

    async def listing(self, key: ListingKey) -> KeptListing | None:
        return None

    async def keep_listing(self, key: ListingKey, listing: KeptListing) -> None:
        """Let it go."""


def _unkept() -> StoreError:
    return StoreError(
        "no level is kept here",
        cause="servers that are only tried are asked for their tools, and nothing is called",
        fix="call tools in a session of the runtime itself",
    )
