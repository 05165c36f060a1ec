"""Selection of the sandbox engine for a server: the operator's choice, or the best that works on this host."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from bascule.config.model.runtime_config import ServerConfig
from bascule.config.model.sandbox import NONE, Sandbox
from bascule.config.model.transport import StdioTransport
from bascule.core.errors import ConfigError, SandboxError
from bascule.sandbox.spec.engine import Engine

CHOICE = "BASCULE_SANDBOX"
"""The variable by which an operator says which engines are to be looked for at all."""

KINDS = ("docker", "bubblewrap")
"""Best first: what a container may use up is held by the kernel on every system."""

_INSTALL = {
    "docker": "install and start Docker, and see that this user may use its socket",
    "bubblewrap": "install bubblewrap (Debian: apt-get install bubblewrap)",
}


@dataclass(frozen=True, slots=True)
class Engines:
    """Those that can be used here, best first, and why each other one cannot."""

    found: tuple[Engine, ...] = ()
    missing: Mapping[str, str] = field(default_factory=dict[str, str])

    def of(self, server: ServerConfig) -> Engine | SandboxError | None:
        """What makes a server's box. None: it has none, and is loose. Who asks for a box and cannot have it gets the
        reason, and never a plain process."""
        asked = server.sandbox
        if not isinstance(server.transport, StdioTransport) or asked == NONE:
            return None
        if asked is None:
            return self.found[0] if self.found else None
        kind = "docker" if asked.image is not None else asked.engine
        fitting = [engine for engine in self.found if kind in {"auto", engine.kind}]
        return fitting[0] if fitting else self._none(kind)

    def _none(self, kind: str) -> SandboxError:
        wanted = KINDS if kind == "auto" else (kind,)
        told = [f"{each}: {self.missing.get(each, 'not looked for')}" for each in wanted]
        return SandboxError(
            f"no {'box' if kind == 'auto' else f'{kind} box'} can be made here, and the server was to run in one",
            where="sandbox",
            evidence="\n".join(told),
            fix=f"{', or '.join(_INSTALL[each] for each in wanted)}; or say `sandbox: none`, which makes it loose",
        )


def looked_for(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Which kinds of engine an operator wants to be looked for."""
    choice = environ.get(CHOICE, "") or "auto"
    if choice == "auto":
        return KINDS
    if choice == NONE:
        return ()
    if choice not in KINDS:
        raise ConfigError(f"{CHOICE} must be one of auto, {', '.join(KINDS)}, none", where=CHOICE)
    return (choice,)


def settings_of(server: ServerConfig) -> Sandbox:
    return server.sandbox if isinstance(server.sandbox, Sandbox) else Sandbox()
