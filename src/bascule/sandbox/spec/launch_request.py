"""Launch request of a sandbox: server, lane, principal, command, and the operator's settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bascule.config.model.sandbox import Sandbox
from bascule.core.principal import Principal
from bascule.core.sensitivity import Lane
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Mount

_NOTHING = dict[str, str]


@dataclass(frozen=True, slots=True)
class Order:
    """One box that is wanted. Two orders never share a box."""

    server: str
    lane: Lane
    principal: Principal
    command: Command
    """The server's own: its argv as configured, its whole environment, its folder. All of it as seen outside."""
    settings: Sandbox
    workspace: str | None = None
    """The folder with the files of the agent session, shown as /workspace, to be written to."""
    room: int | None = None
    """Bytes that all files there may take together. A box that writes more is ended."""
    sockets: Mapping[str, str] = field(default_factory=_NOTHING)
    """Sockets of ours that it is given: their paths in the box, and outside. Of the proxy the folder stands here."""
    mounts: tuple[Mount, ...] = ()
    """What else of ours it is shown, such as the packages that were fetched for it."""
    config: tuple[str, ...] = ()
    """The files that the runtime loaded its configuration from, by their real paths."""
