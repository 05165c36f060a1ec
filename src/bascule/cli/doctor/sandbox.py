"""Health checks of sandboxes: available engines, visible paths, and a start on the sealed network lane."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from bascule.cli.doctor.check import Check, failed
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.config.model.sandbox import NONE
from bascule.config.model.transport import StdioTransport
from bascule.core.errors import BasculeError, SandboxError
from bascule.runtime.sandboxes import proxy_trouble
from bascule.runtime.session import AgentSession
from bascule.sandbox.bubblewrap.engine import Bubblewrap
from bascule.sandbox.discovery import reap
from bascule.sandbox.factory import Boxing
from bascule.sandbox.spec.engine import NOT_BOUNDED

LOOSE = "they run as plain processes and are loose: they see what you see, and from CONFIDENTIAL on are asked nothing"


async def engine_checks(config: RuntimeConfig, boxing: Boxing) -> list[Check]:
    """What makes boxes here, and what of them is weaker than it could be."""
    processes = [server for server in config.servers.values() if isinstance(server.transport, StdioTransport)]
    if not processes:
        return []
    engines = boxing.engines
    missing = "\n".join(f"{kind}: {why}" for kind, why in engines.missing.items())
    if not engines.found:
        fix = "install bubblewrap (Debian: apt-get install bubblewrap), or start Docker"
        return [Check("sandbox", "warn", f"there is nothing that makes boxes for servers, so {LOOSE}", missing, fix)]
    checks = [Check("sandbox", "ok", f"boxes are made by {engines.found[0].kind}", missing)]
    for engine in engines.found:
        if isinstance(engine, Bubblewrap):
            checks += await _weaknesses(engine)
    if why := proxy_trouble(config):
        checks.append(Check("egress", "warn", why, fix="pip install 'bascule[proxy]'"))
    return checks


async def _weaknesses(engine: Bubblewrap) -> list[Check]:
    found: list[Check] = []
    if why := await engine.shares_host_network():
        told = "the open lane is loose: its boxes are on this machine's own network, services on the loopback included"
        found.append(Check("sandbox", "warn", told, why, "install pasta (Debian: apt-get install passt)"))
    if why := engine.loosely_bounded:
        held = [f"{name}: {extent}" for name, extent in engine.bounds().items() if NOT_BOUNDED in extent]
        told = f"{len(held)} bounds of a sandbox do not hold for the whole of it, because it has no cgroup"
        fix = "run where cgroups can be made, or use `engine: docker`"
        found.append(Check("sandbox", "warn", told, "\n".join((*held, why)), fix))
    return found


def box_check(server: ServerConfig, boxing: Boxing) -> Iterator[Check]:
    """Whether a server that is a process has a box."""
    if not isinstance(server.transport, StdioTransport):
        return
    subject, engine = f"box {server.name}", boxing.engine_of(server)
    if isinstance(engine, SandboxError):
        yield failed(subject, engine)
    elif engine is None and server.sandbox == NONE:
        yield Check(subject, "warn", "none, by the operator's word (`sandbox: none`): it sees what you see")
    elif engine is not None:
        yield Check(subject, "ok", f"made by {engine.kind}")


async def reaped_check(state: Path, environ: Mapping[str, str]) -> Check:
    """Remove what killed runtimes have left, and say what it was."""
    gone = await reap(state, environ)
    return Check("reaped", "ok", f"{len(gone)} things of runtimes that were killed are gone", "\n".join(gone))


async def sealed_checks(server: ServerConfig, session: AgentSession) -> list[Check]:
    """Whether a server whose own command stands in for it starts where it reaches nothing: proven by starting it."""
    if not session.boxed(server.name):
        return []
    subject = f"sealed {server.name}"
    try:
        await session.prove_sealed(server.name)
    except BasculeError as error:
        return [failed(subject, error, "warn")]
    return [Check(subject, "ok", "it starts and lists the same tools in a sealed box, probed from inside")]
