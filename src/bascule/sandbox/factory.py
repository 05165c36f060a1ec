"""Factory of the sandboxes of one runtime: adds lane, settings, workspace, quota and provisions to a server's
command."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.transport import StdioTransport
from bascule.config.secret import reveal_all
from bascule.core.errors import SandboxError
from bascule.core.principal import Nobody, Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.engines import Engines, settings_of
from bascule.sandbox.limits import spent
from bascule.sandbox.process.child import Command
from bascule.sandbox.process.environment import child_environment
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import Engine, EngineBox, Run, SharedInodes
from bascule.sandbox.spec.launch_request import Order
from bascule.workspace.workspaces import Workspaces


class Provision(Protocol):
    """Something of ours that boxes are given: what is done before one is made, and after it is gone."""

    async def before(self, engine: Engine, order: Order) -> Order:
        """The order with what it needs of this. Raises `SandboxError`."""
        ...

    async def after(self, order: Order) -> None:
        """The box is gone, or was never made. Never raises."""
        ...


@dataclass(slots=True)
class ServerBox:
    """One server's box. It is made when it is opened, and opened once."""

    engine: Engine
    order: Order
    provisions: tuple[Provision, ...] = ()
    _box: EngineBox | None = None

    async def spent(self) -> str:
        """Wait until it has used up what it may, and say what it was."""
        return await spent(self.order, self._box.guarded if self._box is not None else {})

    async def open(self) -> Command | Run:
        for provision in self.provisions:
            self.order = await provision.before(self.engine, self.order)
        self._box = self.engine.box(self.order)
        return await self._box.open()

    async def close(self) -> None:
        """Nothing of it is left when this returns. Raises `SandboxError` if something may be."""
        try:
            if self._box is not None:
                await self._box.close()
        finally:
            for provision in reversed(self.provisions):
                await provision.after(self.order)


@dataclass(frozen=True, slots=True)
class Ordering:
    """All of an order but its command."""

    engine: Engine
    whole: Order
    provisions: tuple[Provision, ...] = ()

    @property
    def lane(self) -> Lane:
        return self.whole.lane

    def of(self, command: Command) -> ServerBox:
        """A box that is not made yet."""
        return ServerBox(self.engine, replace(self.whole, command=command), self.provisions)


class Boxing:
    """Orders boxes. Which engine makes them was settled when the runtime started."""

    def __init__(
        self,
        engines: Engines,
        provisions: tuple[Provision, ...] = (),
        workspaces: Workspaces | None = None,
        room: int | None = None,
        config: tuple[str, ...] = (),
    ) -> None:
        """`room` is what the files of one agent session may take, in bytes; `config` are the files that the runtime
        loaded its configuration from, by their real paths."""
        self.engines = engines
        """Put others here, and every box from then on is made by them."""
        self.provisions = provisions
        self._workspaces = workspaces
        self._room = room
        self.config = config

    def engine_of(self, server: ServerConfig) -> Engine | SandboxError | None:
        return self.engines.of(server)

    def has_twin(self, server: ServerConfig) -> bool:
        """Whether the same command in a tighter box stands in for a server. Where an operator has named a twin, or
        vouches for the server as it is, that is what counts."""
        if server.isolated is not None or server.vouched is not None:
            return False
        return not isinstance(self.engine_of(server), SandboxError | None)

    def preview(self, server: ServerConfig, environ: Mapping[str, str]) -> Box | None:
        """The layout of a server's sandbox on the sealed lane, for a report. None if it has none. It reads the file
        system. Raises `SandboxError`."""
        # Slow to import, and only for reports.
        from bascule.sandbox.mounts.host import this_machine  # noqa: PLC0415
        from bascule.sandbox.mounts.layout import laid_out  # noqa: PLC0415

        engine, order = self.engine_of(server), self._example_order(server, environ)
        if order is None or engine is None or isinstance(engine, SandboxError):
            return None
        return laid_out(order, this_machine(environ), "preview")

    async def shared_inodes(self, server: ServerConfig, environ: Mapping[str, str]) -> SharedInodes:
        """The inodes that a sealed sandbox of a server shares with other sandboxes. Raises `SandboxError`."""
        engine, order = self.engine_of(server), self._example_order(server, environ)
        if order is None or not self.has_twin(server) or isinstance(engine, SandboxError | None):
            return SharedInodes()
        return await engine.shared_inodes(order)

    def _example_order(self, server: ServerConfig, environ: Mapping[str, str]) -> Order | None:
        """Order of a sealed sandbox as the config of a server has it. None if the server is no process. Packages that
        are fetched for a command, and the workspace, are not in it."""
        stdio = server.transport
        if not isinstance(stdio, StdioTransport):
            return None
        env = child_environment(reveal_all(stdio.env), stdio.inherit_env, environ)
        command = Command((stdio.command, *stdio.args), env, stdio.cwd)
        reader = Nobody("bascule", "inspect")
        return Order(server.name, Lane.SEALED, reader, command, settings_of(server), config=self.config)

    def ordering(self, server: ServerConfig, lane: Lane, principal: Principal) -> "Ordering | None":
        """How a box is ordered for a server. None, if it runs without one. Raises why it cannot be had."""
        engine = self.engine_of(server)
        if engine is None:
            return None
        if isinstance(engine, SandboxError):
            raise engine.with_traceback(None)
        workspace = None
        if self._workspaces is not None and not isinstance(principal, Nobody):
            workspace = self._workspaces.of(principal).host_path("/workspace")
        # What an operator vouches for is the server with the way out that it has.
        lane = Lane.OPEN if server.vouched is not None else lane
        order = Order(server.name, lane, principal, Command((), {}), settings_of(server), workspace, self._room)
        return Ordering(engine, replace(order, config=self.config), self.provisions)


UNBOXED = Boxing(Engines())
"""Where nothing was looked for."""
