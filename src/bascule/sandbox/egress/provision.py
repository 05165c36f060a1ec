"""Egress provision of proxied sandboxes: gives each its own proxy socket, and attributes proxied requests to server and
principal."""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Protocol

from bascule.config.model.egress import Egress
from bascule.core.events import HostAsked
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.egress.access_log import Access
from bascule.sandbox.spec.box import PROXY_FOLDER
from bascule.sandbox.spec.engine import Engine
from bascule.sandbox.spec.launch_request import Order

_log = logging.getLogger("bascule.sandbox")

REMEMBERED = 1000
"""Closed sandboxes of which the proxy may still log accesses."""


class Proxy(Protocol):
    """The egress proxy, as far as it is used here."""

    async def socket_for(self, box: str) -> str: ...
    async def release(self, box: str) -> None: ...
    async def change(self, egress: Egress) -> None: ...
    async def close(self) -> None: ...


class ProxyProvision:
    """The proxy sockets of one runtime. Each sandbox of the proxied lane has its own, which identifies it."""

    def __init__(self, egress: Egress, proxy: Callable[[Callable[[Access], None]], Proxy]) -> None:
        """`proxy` makes a proxy that reports each access to the function it is given. The proxy starts with the first
        sandbox that needs it."""
        self._egress = egress
        self._proxy = proxy(self._heard)
        self.asked: asyncio.Queue[HostAsked] = asyncio.Queue()
        """Events of the hosts that sandboxes ask for. They wait until they are taken from here."""
        self._numbers = count(1)
        self._names: dict[str, str] = {}
        """The sandbox of each folder that is in use."""
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
        """When this returns, only the hosts of this list are let through."""
        self._egress = egress
        await self._proxy.change(egress)

    async def close(self) -> None:
        await self._proxy.close()

    def _heard(self, access: Access) -> None:
        whose = self._whose.get(access.box)
        if whose is None:
            _log.warning("the proxy tells of a box that nobody knows: %s", access.box)
            return
        self.asked.put_nowait(
            HostAsked(
                *whose,
                access.host,
                access.port,
                access.reason,
                access.status,
                access.sent,
                access.received,
                ended=access.phase == "ended",
                at=time.time(),
            )
        )
