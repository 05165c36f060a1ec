"""Boxes start from layers: what a command would fetch is fetched before its box is made, whichever lane that is for."""

from dataclasses import replace
from pathlib import Path

from bascule.sandbox.boxes.engine import Engine
from bascule.sandbox.boxes.order import Order
from bascule.sandbox.child import Command
from bascule.sandbox.prepare.layer import Layer
from bascule.sandbox.prepare.preparing import Preparing


class PreparedPackages:
    """What of layers goes into orders. A layer outlives the boxes that start from it."""

    def __init__(self, state: Path) -> None:
        self._state = state

    async def before(self, engine: Engine, order: Order) -> Order:
        """The order with the fetched program in the place of what would fetch it."""
        if order.settings.image is not None:
            # Its system is another one than that for which a package would be fetched here.
            return order
        layer = await Preparing(self._state, engine).prepared(order.command)
        return order if layer is None else with_layer(order, layer)

    async def after(self, order: Order) -> None:
        pass


def with_layer(order: Order, layer: Layer) -> Order:
    command = order.command
    started = Command(layer.argv, {**command.env, **layer.env}, command.cwd)
    return replace(order, command=started, mounts=(*order.mounts, *layer.mounts))
