"""Docker network of open sandboxes: one per runtime, without traffic between its containers."""

import asyncio

from bascule.core.errors import ConnectFailed
from bascule.core.json_types import JsonObject
from bascule.sandbox.docker.api import Engine, EngineRefused
from bascule.sandbox.docker.labels import owned_by
from bascule.sandbox.owner import Owner

OPTIONS = {
    # What is on one bridge could reach each other otherwise.
    "com.docker.network.bridge.enable_icc": "false",
    "com.docker.network.bridge.enable_ip_masquerade": "true",
}


def network_body(owner: Owner) -> JsonObject:
    return {
        "Name": f"bascule-{owner.id}",
        "Driver": "bridge",
        "CheckDuplicate": True,
        "Internal": False,
        "EnableIPv6": False,
        "Options": OPTIONS,
        "Labels": dict(owned_by(owner)),
    }


class OpenNetwork:
    """The network of one owner. It is made when the first box needs it."""

    def __init__(self, engine: Engine, owner: Owner) -> None:
        self._engine = engine
        self._body = network_body(owner)
        self._making = asyncio.Lock()
        self._id = ""

    @property
    def name(self) -> str:
        return str(self._body["Name"])

    async def ready(self) -> str:
        """Its id, once it is there."""
        async with self._making:
            if not self._id or await self._engine.find(f"/networks/{self._id}") is None:
                self._id = str((await self._engine.ask("POST", "/networks/create", self._body)).get("Id", ""))
            return self._id

    async def remove(self) -> None:
        async with self._making:
            if self._id:
                await remove_network(self._engine, self._id)
                self._id = ""


async def remove_network(engine: Engine, network: str) -> bool:
    """Whether it is gone. One that somebody uses stays."""
    try:
        await engine.ask("DELETE", f"/networks/{network}")
    except EngineRefused as error:
        return error.status == 404
    except ConnectFailed:
        return False
    return True
