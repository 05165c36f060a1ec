"""Gives the box of a server of our kit the socket through which it raises the level of its agent session."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

from bascule.config.state_dir import RAISE_SOCKET_VARIABLE
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.runtime.levels.socket_server import RaiseSocket
from bascule.sandbox.spec.box import RAISE_SOCKET
from bascule.sandbox.spec.engine import Engine
from bascule.sandbox.spec.launch_request import Order

RaiseTo = Callable[[Principal, DataSensitivity, Cause], Awaitable[None]]


class RaiseProvision:
    """The sockets of all boxes of one runtime, each of one server in one agent session."""

    def __init__(self, folder: Path, level_of: Callable[[Principal], DataSensitivity], raise_to: RaiseTo) -> None:
        """`folder` is ours alone: who can enter it can raise anybody's level."""
        self._folder = folder
        self._level_of = level_of
        self._raise_to = raise_to
        self._numbers = count(1)
        self._open: dict[str, RaiseSocket] = {}

    async def before(self, engine: Engine, order: Order) -> Order:
        del engine
        if RAISE_SOCKET_VARIABLE not in order.command.env:
            return order
        path = self._folder / f"{next(self._numbers)}.sock"
        made = RaiseSocket(path, order.principal, order.server, self._level_of, self._raise_to)
        self._open[str(path)] = made
        # Told before it is open: whoever stops waiting for that closes it all the same.
        given = replace(order, sockets={**order.sockets, RAISE_SOCKET: str(path)})
        try:
            await made.open()
        except BaseException:
            await self.after(given)
            raise
        return given

    async def after(self, order: Order) -> None:
        made = self._open.pop(order.sockets.get(RAISE_SOCKET, ""), None)
        if made is not None:
            await made.close()
