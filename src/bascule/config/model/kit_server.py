"""Kit server in a config (`type: server`): Bascule starts it by its name, and never connects to it because of this
entry."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from bascule.config.model.auth import AuthSettings
from bascule.config.validation import Flaw, name_flaws, refuse
from bascule.core.errors import ConfigError

HOST = "127.0.0.1"
PORT = 8000
PATH = "/mcp"
"""Defaults of the address at which a server of the kit listens."""

HIGHEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class KitServer:
    """What is started, where it listens, and whose tokens it believes.

    One that cannot be started although the rest of the file is in order is here too, with `unavailable_reason`.
    """

    name: str
    target: str
    """The Python file that holds the server, as the config names it: from the config's own folder on."""
    instructions: str | None = None
    """What it tells whoever connects to it, in place of its own words."""
    port: int = PORT
    auth: AuthSettings = field(default_factory=AuthSettings)
    location: str = field(default="", compare=False)
    """Where it was described, for messages."""
    unavailable_reason: ConfigError | None = field(default=None, compare=False)

    @property
    def url(self) -> str:
        """Where clients on this machine reach it."""
        return f"http://{HOST}:{self.port}{PATH}"

    def __post_init__(self) -> None:
        given = self.target if self.unavailable_reason is None else "unknown"
        refuse(f"KitServer {self.name!r}", [*name_flaws(self.name), *kit_server_flaws(given, self.port)])


def kit_server_flaws(target: Any, port: Any) -> Iterator[Flaw]:
    if not isinstance(target, str) or not target.strip() or "\0" in target:
        yield Flaw(("target",), "must name the Python file that holds the server")
    if isinstance(port, bool) or not isinstance(port, int) or not 0 < port <= HIGHEST_PORT:
        yield Flaw(("port",), f"must be a whole number from 1 to {HIGHEST_PORT}")


def told_flaws(*, kit: Any, lifetime: Any, headers: Any) -> Iterator[Flaw]:
    """What cannot stand beside `kit: true`: such a server is told, by us, on whose behalf it is asked."""
    if kit is not True:
        return
    if lifetime == "shared":
        yield Flaw(("kit",), "does not go with `lifetime: shared`: nobody could tell the server who asks")
    names = [str(name).lower() for name in headers or ()]
    if "authorization" in names:
        yield Flaw(("kit",), "does not go with headers.Authorization: the server is shown a token of ours there")
