"""Egress provision of proxied sandboxes: gives each its own proxy socket, and attributes proxied requests to server and
principal."""

import logging
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Protocol

from bascule.config.model.egress import Egress
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.egress.access_log import Access
from bascule.sandbox.spec.box import PROXY_FOLDER
from bascule.sandbox.spec.engine import Engine
from bascule.sandbox.spec.launch_request import Order

_log = logging.getLogger("bascule.sandbox")

REMEMBERED = 1000
"""Boxes that are gone of which the proxy may still tell something."""

Asked = Callable[[str, Principal, Access], None]
"""Takes what a box asked the proxy for: its server, on whose behalf, what."""


class Proxy(Protocol):
    """What leads out of proxied boxes."""

    async def socket_for(self, box: str) -> str: ...
    async def release(self, box: str) -> None: ...
    async def change(self, egress: Egress) -> None: ...
    async def close(self) -> None: ...


class ProxyProvision:
    """The way to the proxy, for boxes of the proxied lane. Each has one of its own, by which it is known."""

    def __init__(self, egress: Egress, asked: Asked, proxy: Callable[[Callable[[Access], None]], Proxy]) -> None:
        """`proxy` makes one that tells what boxes ask it for. It is started when a box first needs it."""
        self._egress = egress
        self._asked = asked
        self._proxy = proxy(self._heard)
        self._numbers = count(1)
        self._names: dict[str, str] = {}
        """Of each folder that was given out, whose it is."""
        self._whose: dict[str, tuple[str, Principal]] = {}

    async def before(self, engine: Engine, order: Order) -> Order:
        del engine
        if order.lane is not Lane.PROXIED or not self._egress.allow:
            return order
        name = f"{order.server}-{next(self._numbers)}"
        self._whose[name] = (order.server, order.principal)
        if len(self._whose) > REMEMBERED + len(self._names):
            del self._whose[next(each for each in self._whose if each not in self._names.values())]
        folder = str(Path(await self._proxy.socket_for(name)).parent)
        self._names[folder] = name
        return replace(order, sockets={**order.sockets, PROXY_FOLDER: folder})

    async def after(self, order: Order) -> None:
        name = self._names.pop(order.sockets.get(PROXY_FOLDER, ""), None)
        if name is not None:
            await self._proxy.release(name)

    async def change(self, egress: Egress) -> None:
        """When this returns, nothing is let through but by this list."""
        self._egress = egress
        await self._proxy.change(egress)

    async def close(self) -> None:
        await self._proxy.close()

    def _heard(self, access: Access) -> None:
        whose = self._whose.get(access.box)
        if whose is None:
            _log.warning("the proxy tells of a box that nobody knows: %s", access.box)
        else:
            self._asked(*whose, access)
