"""Sandbox engine on Docker: each sandbox is one container, in which only the entry program and its server run."""

import asyncio
import secrets
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from weakref import WeakSet

from bascule.core.errors import ConnectFailed, SandboxError
from bascule.sandbox.docker.api import Engine, socket_of, started
from bascule.sandbox.docker.attach import listening_to
from bascule.sandbox.docker.availability import Standings
from bascule.sandbox.docker.box import ContainerBox
from bascule.sandbox.docker.labels import PRINCIPAL, alias
from bascule.sandbox.docker.network import OpenNetwork
from bascule.sandbox.docker.provision import Furnishing
from bascule.sandbox.docker.remove import boxes_of, remove_container
from bascule.sandbox.mounts.host import Machine, this_machine
from bascule.sandbox.mounts.layout import laid_out
from bascule.sandbox.owner import Owner
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import WHOLE, Ended, Run, SharedInodes
from bascule.sandbox.spec.launch_request import Order

PAUSE = 0.01
"""Seconds between two looks at a run that has ended, until its exit code is known."""


class DockerEngine:
    """Makes boxes that are containers. They belong to one owner; `close` ends what is left of them."""

    kind = "docker"

    def __init__(self, owner: Owner, environ: Mapping[str, str], machine: Machine | None = None) -> None:
        self._owner = owner
        self._machine = machine or this_machine(environ)
        self._engine = Engine(socket_of(environ))
        self._standings = Standings(self._engine)
        self._network = OpenNetwork(self._engine, owner)
        self._furnishing = Furnishing(self._engine, owner, self._standings, self._network, path=environ.get("PATH", ""))
        self._boxes = WeakSet[ContainerBox]()

    async def why_not(self) -> str:
        """Why no box can be made here, in a sentence; empty if one can."""
        return (await self._standings.now()).why_not

    def bounds(self) -> Mapping[str, str]:
        return WHOLE

    def box(self, order: Order) -> ContainerBox:
        name = f"bascule-{self._owner.id}-{order.server}-{secrets.token_hex(4)}"
        return self._kept(name, order.server, partial(self._laid_out, order, name))

    def _laid_out(self, order: Order, name: str) -> Box:
        laid = laid_out(order, replace(self._machine, decoys=str(self._owner.decoys())), name)
        return replace(laid, labels={**laid.labels, PRINCIPAL: alias(order.principal)})

    async def run(self, box: Box, timeout: float) -> Ended:
        kept = self._kept(box.name, box.server, lambda: box)
        try:
            async with asyncio.timeout(timeout):
                return await self._ended(await kept.open())
        except TimeoutError as error:
            raise SandboxError(
                f"what ran in the box of {box.server} took longer than {timeout:g} s, and was ended", where="box"
            ) from error
        except ConnectFailed as error:
            raise SandboxError(error.message, where="box", evidence=error.evidence, fix=error.fix) from error
        finally:
            await asyncio.shield(kept.close())

    async def shared_inodes(self, order: Order) -> SharedInodes:
        box = self.box(order)
        try:
            await box.open()
            return box.shared
        finally:
            await asyncio.shield(box.close())

    async def close(self) -> None:
        """End every box that is still there, and the network of open ones."""
        await asyncio.gather(*(box.close() for box in tuple(self._boxes)), return_exceptions=True)
        with suppress(ConnectFailed, SandboxError):
            # Also those of which we were never told that they had been made.
            for found in await boxes_of(self._engine):
                if found.owner == self._owner.id:
                    await remove_container(self._engine, found.id, within=0)
            await self._network.remove()

    def _kept(self, name: str, server: str, layout: Callable[[], Box]) -> ContainerBox:
        kept = ContainerBox(self._engine, self._furnishing, name, server, layout)
        self._boxes.add(kept)
        return kept

    async def _ended(self, run: Run) -> Ended:
        run_id = await self._engine.prepare(run)
        async with listening_to(self._engine, *started(run_id)) as ear:
            ear.end_input()
            await ear.to_the_end()
        while True:
            state = await self._engine.look(run_id)
            if state.ended:
                return Ended(state.code if state.code is not None else -1, ear.heard.decode("utf-8", "replace"))
            await asyncio.sleep(PAUSE)
