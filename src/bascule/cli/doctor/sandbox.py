"""Health checks of sandboxes: available engines, visible paths, and a start on the sealed network lane."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator, Mapping
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
from bascule.sandbox.mounts.masks import holds_packages
from bascule.sandbox.spec.engine import NOT_BOUNDED, SharedInodes

SHOWN = 5
"""Masked paths in a message. The evidence has all of them."""

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
    if engine.shared.paths:
        found.append(_shared("sandbox", engine.shared))
    if why := engine.loosely_bounded:
        held = [f"{name}: {extent}" for name, extent in engine.bounds().items() if NOT_BOUNDED in extent]
        told = f"{len(held)} bounds of a sandbox do not hold for the whole of it, because it has no cgroup"
        fix = "run where cgroups can be made, or use `engine: docker`"
        found.append(Check("sandbox", "warn", told, "\n".join((*held, why)), fix))
    return found


def _shared(subject: str, shared: SharedInodes) -> Check:
    told = f"private lanes share inodes with other sandboxes, which can signal by locks: {', '.join(shared.paths)}"
    fix = "start Bascule as root, or use `engine: docker`; see docs/sandbox.md for folders that have no overlay"
    return Check(subject, "warn", told, shared.why, fix)


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


async def mask_checks(
    server: ServerConfig, boxing: Boxing, environ: Mapping[str, str] = os.environ
) -> AsyncIterator[Check]:
    """Paths of the host that the sandbox of a server shows empty, and folders that may have more of them."""
    subject = f"box {server.name}"
    try:
        box = await asyncio.to_thread(boxing.preview, server, environ)
    except SandboxError as error:
        yield failed(subject, error)
        return
    if box is None:
        return
    masked = [f"{_on_one_line(mask.path)} ({mask.why})" for mask in box.masks]
    if masked:
        more = f"; and {len(masked) - SHOWN} more" if len(masked) > SHOWN else ""
        told = f"masked in it: {'; '.join(masked[:SHOWN])}{more}"
        yield Check(subject, "ok", told, "\n".join(masked), f"`bascule inspect {server.name}` lists what it shows")
    # There is nothing that an operator could change in packages, and a socket is unlikely there.
    packages = [_on_one_line(path) for path in box.unscanned if holds_packages(path)]
    if packages:
        told = f"not searched completely for sockets and FIFOs: {', '.join(packages)}"
        yield Check(subject, "ok", told, "\n".join(packages))
    large = [f"{_on_one_line(path)}: searched in part" for path in box.unscanned if not holds_packages(path)]
    if large:
        told = "it shows folders that are too large to be searched for credentials, sockets and FIFOs"
        fix = f"list the folders that the server needs under `sandbox.mounts` of {server.name}"
        yield Check(subject, "warn", told, "\n".join(large), fix)


def _on_one_line(path: str) -> str:
    return path if path.isprintable() else repr(path)


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
        shared = await session.boxing.shared_inodes(server, os.environ)
    except BasculeError as error:
        return [failed(subject, error, "warn")]
    engine = session.boxing.engine_of(server)
    # Inodes that all sandboxes share are one finding of the machine, and not one of each server.
    of_all = engine.shared.paths if isinstance(engine, Bubblewrap) else ()
    paths = tuple(path for path in shared.paths if path not in of_all)
    told = Check(subject, "ok", "it starts and lists the same tools in a sealed box, probed from inside")
    return [told, _shared(subject, SharedInodes(paths, shared.why))] if paths else [told]
