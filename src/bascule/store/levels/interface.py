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
    """Changes since the last poll of a runtime."""

    position: Position
    """The last change that is taken into account here."""
    changed: tuple[SessionRecord, ...]
    """The agent sessions whose level has changed since, as they are now; all of them for a runtime that is not
    registered."""
    registered: bool
    """False if no raise waits for this runtime, or if this database does not hold its last poll: an older copy, or
    another one. The runtime must register again."""
    runtimes: frozenset[str] = frozenset()
    """The runtimes that are registered, by rows that verify."""


class Laggards(msgspec.Struct, frozen=True):
    """Registered runtimes, by their acknowledgement of one change."""

    lagging: frozenset[str]
    """Those without it. A row that does not verify acknowledges nothing."""
    settled: frozenset[str]
    """Those that have acknowledged it, or have left."""
    found: bool
    """Whether the change is in the store: an older copy of the database does not have it."""


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

    async def register(self, runtime: str, at: float, applied: Position | None = None) -> Position:
        """Register a runtime: from here on each raise waits for it. Its row has the position up to which it has applied
        all changes, by default the last one, and this is returned. Also removes the rows of runtimes that left 60 s
        before."""
        ...

    async def poll(self, runtime: str, after: Position) -> Poll:
        """Changes after the position of the runtime's last poll."""
        ...

    async def acknowledge(self, runtime: str, position: Position) -> bool:
        """Record that this runtime has applied every change up to this one. False if it is no longer registered. Need
        not be durable."""
        ...

    async def leave(self, runtime: str, at: float) -> None:
        """Mark this runtime as ended, so that no raise waits for it, or for a memory of it."""
        ...

    async def laggards(self, position: Position) -> Laggards:
        """Registered runtimes that have, and that have not, acknowledged this change."""
        ...

    async def strike(self, runtimes: Collection[str], position: Position) -> None:
        """Deregister those of these runtimes that have not acknowledged this change: their leases have run out."""
        ...

    def ring(self) -> None:
        """Wake every other runtime on this store up, so that it looks at once. May be lost; never blocks or raises."""
        ...

    async def rung(self) -> None:
        """Wait until another runtime rings. May return without that."""
        ...
