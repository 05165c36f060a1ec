"""Package provision of sandboxes: before one is created, on any lane, the package that its command would fetch is
fetched."""

import asyncio
import os
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path

from bascule.sandbox.mounts.host import this_machine
from bascule.sandbox.prepare.layer import Layer
from bascule.sandbox.prepare.prepare import Preparing
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.engine import Engine
from bascule.sandbox.spec.launch_request import Order


class PreparedPackages:
    """What of layers goes into orders. A layer outlives the boxes that start from it.

    A fetch goes on when whoever waits for it gives up: a link may wait for a minute, and a large package takes longer.
    The next one finds it under way, or done.
    """

    def __init__(self, state: Path, config: tuple[str, ...] = ()) -> None:
        """`config` are the files that the runtime loaded its configuration from, by their real paths."""
        self._state = state
        self._machine = replace(this_machine(os.environ), config=config)
        self._under_way: dict[Hashable, asyncio.Task[Layer | None]] = {}

    async def before(self, engine: Engine, order: Order) -> Order:
        """The order with the fetched program in the place of what would fetch it."""
        if order.settings.image is not None:
            # Its system is another one than that for which a package would be fetched here.
            return order
        layer = await asyncio.shield(self._preparing(engine, order.command))
        return order if layer is None else with_layer(order, layer)

    async def after(self, order: Order) -> None:
        pass

    async def close(self) -> None:
        """End what is under way. Nothing of it is left when this returns."""
        tasks = tuple(self._under_way.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _preparing(self, engine: Engine, command: Command) -> asyncio.Task[Layer | None]:
        wanted = (engine.kind, tuple(command.argv), command.cwd, frozenset(command.env.items()))
        task = self._under_way.get(wanted)
        if task is None:
            task = asyncio.ensure_future(Preparing(self._state, engine, machine=self._machine).prepared(command))
            self._under_way[wanted] = task
            task.add_done_callback(lambda done: self._ended(wanted, done))
        return task

    def _ended(self, wanted: Hashable, task: asyncio.Task[Layer | None]) -> None:
        del self._under_way[wanted]
        if not task.cancelled():
            # Whoever waited was told. If nobody does any more, the next one tries again.
            task.exception()


def with_layer(order: Order, layer: Layer) -> Order:
    command = order.command
    started = Command(layer.argv, {**command.env, **layer.env}, command.cwd)
    return replace(order, command=started, mounts=(*order.mounts, *layer.mounts))
