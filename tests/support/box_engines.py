"""An engine that makes no boxes and notes what it was asked for, for tests of those who order them."""

from collections.abc import Mapping

from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Box, FileIdentity
from bascule.sandbox.spec.engine import Ended, EngineBox, SharedInodes
from bascule.sandbox.spec.launch_request import Order


class NotedBox:
    """What became of one order."""

    def __init__(self, engine: "NotingEngine", order: Order) -> None:
        self._engine = engine
        self._order = order
        self.guarded: Mapping[str, FileIdentity] = {}

    async def open(self) -> Command:
        self._engine.did.append(f"open {self._order.lane}")
        return self._order.command

    async def close(self) -> None:
        self._engine.did.append(f"close {self._order.lane}")


class NotingEngine:
    """Gives the command as it is. Nothing is confined by it."""

    def __init__(self, kind: str = "bubblewrap") -> None:
        self.kind = kind
        self.did: list[str] = []
        self.orders: list[Order] = []
        self.shares = SharedInodes()

    def bounds(self) -> Mapping[str, str]:
        return {"memory": "as noted"}

    def box(self, order: Order) -> EngineBox:
        self.orders.append(order)
        return NotedBox(self, order)

    async def run(self, box: Box, timeout: float) -> Ended:
        raise NotImplementedError(f"{box.name} within {timeout}")

    async def shared_inodes(self, order: Order) -> SharedInodes:
        self.did.append(f"look at {order.server}")
        return self.shares
