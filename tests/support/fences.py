"""Fences of several runtimes on one store, by a clock that the test moves."""

from collections.abc import Iterable

from bascule.core.principal import Principal
from bascule.core.receipt import Cause, Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.sensitivity.fence import Fence
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.store.levels.position import position_after

ALICE = Principal("alice", "s-1")
LABEL = Cause("label", "files", "read")


class Clock:
    """Stands still unless it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Member:
    """One runtime's fence, and the records that it has applied."""

    def __init__(self, store: LevelStore, clock: Clock) -> None:
        self.store = store
        self.seen: list[SessionRecord] = []
        self.unsettled = 0
        self.fence = Fence(store, self.follow, clock, self.unsettle)

    @property
    def id(self) -> str:
        return self.fence._id

    def unsettle(self) -> None:
        self.unsettled += 1

    async def follow(self, records: Iterable[SessionRecord]) -> bool:
        self.seen += records
        return True

    async def raise_level(
        self, level: DataSensitivity = DataSensitivity.SECRET, principal: Principal = ALICE
    ) -> Receipt:
        _, receipt = await self.store.raise_level(principal, level, LABEL, 1.0)
        assert receipt is not None
        return receipt

    async def lags(self, receipt: Receipt) -> bool:
        return self.id in (await self.store.laggards(position_after(receipt))).lagging
