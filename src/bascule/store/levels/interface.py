"""Interface for stored sensitivity levels, the same for each engine: session records, receipts, and registered
runtimes."""

from collections.abc import Collection, Mapping
from typing import Protocol

import msgspec

from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.position import Position

MOST_RECEIPTS = 1000
"""Receipts that are read at once, unless the caller gives another number."""


class SessionRecord(msgspec.Struct, frozen=True):
    """What both witnesses together say of one agent session. Where they cannot be read, or contradict each other, it
    says SECRET and why."""

    principal: Principal
    level: DataSensitivity
    epoch: int = 0
    """Moves with every change of the level."""
    ended: bool = False
    """Whether an operator has ended it. Nothing is done on its behalf any more."""
    datasets: Mapping[str, DataSensitivity] = {}
    """The private datasets that it has seen, each at the highest level it was ever given."""
    since: float = 0.0
    """Seconds since the epoch when it began."""
    doubt: str = ""
    """Why the level is SECRET although nobody raised it to that."""


class Poll(msgspec.Struct, frozen=True):
    """What has happened since a runtime last looked."""

    number: int
    """The number of the last change that is taken into account here."""
    changed: tuple[SessionRecord, ...]
    """The agent sessions whose level has changed since, as they are now."""
    registered: bool
    """Whether whoever raises a level still waits for this runtime. If not, it has to register anew first."""


class LevelStore(Protocol):
    """Levels, and the runtimes that have to hear of them. Raises `StoreError` where something could not be written, or
    not be read at all; what can be read and not be believed is SECRET.

    When a change returns it is durable. A runtime that has looked (`register`, `poll`) after that knows of it.
    """

    # Levels

    async def begin(self, principal: Principal, at: float) -> SessionRecord:
        """The record of an agent session. If there is none, it begins here, PUBLIC, and is durable in both witnesses
        when this returns: from then on *absent* never means PUBLIC."""
        ...

    async def raise_level(
        self, principal: Principal, level: DataSensitivity, cause: Cause, at: float
    ) -> tuple[SessionRecord, Receipt | None]:
        """Raise to at least this level, in one atomic step; where `cause` names a dataset, it is kept with the highest
        level it was ever given, in the same step. A receipt only if the level rose. An agent session that has not
        begun, begins."""
        ...

    async def lower_level(
        self, principal: Principal, level: DataSensitivity, cause: Cause, at: float
    ) -> tuple[SessionRecord, Receipt]:
        """Declassify, which only an operator may ask for. Also takes away doubt. Raises `UsageError` where there is no
        such agent session, or its level is not above the one asked for."""
        ...

    async def end_session(self, principal: Principal, cause: Cause, at: float) -> tuple[SessionRecord, Receipt]:
        """Let nothing be done on its behalf any more. Its record stays for good, so that it never begins anew. Raises
        `UsageError` where there is no such agent session."""
        ...

    async def sessions(self) -> tuple[SessionRecord, ...]:
        """All of them, those that began last first."""
        ...

    async def receipts(self, principal: Principal | None = None, limit: int = MOST_RECEIPTS) -> tuple[Receipt, ...]:
        """The last ones, of one agent session or of all, in the order in which they were made."""
        ...

    async def complete_receipt(
        self, number: int, closed: tuple[str, ...], twins: Mapping[str, str], fence: str
    ) -> None:
        """Add to a receipt what was done about the change. What other runtimes closed is added to what is there."""
        ...

    async def position(self, number: int | None = None) -> Position:
        """Position of the receipt with this number, else of the last receipt. Without such a receipt its number is 0
        and its fingerprint empty; the origin is given in any case."""
        ...

    # The fence

    async def register(self, runtime: str, at: float) -> int:
        """From here on whoever raises a level waits for this runtime. The number of the last change so far."""
        ...

    async def poll(self, runtime: str, after: int) -> Poll:
        """What has changed after that number."""
        ...

    async def acknowledge(self, runtime: str, number: int) -> bool:
        """This runtime has done what every change up to that number asks for. Whether it is still registered. Need not
        be durable."""
        ...

    async def laggards(self, number: int) -> frozenset[str]:
        """The registered runtimes that have not acknowledged this change."""
        ...

    async def strike(self, runtimes: Collection[str], number: int | None = None) -> None:
        """Wait for these no longer: they end, or their leases have run out. With a number, one that has acknowledged it
        in the meantime stays."""
        ...

    def ring(self) -> None:
        """Wake every other runtime on this store up, so that it looks at once. May be lost; never blocks or raises."""
        ...

    async def rung(self) -> None:
        """Wait until another runtime rings. May return without that."""
        ...
