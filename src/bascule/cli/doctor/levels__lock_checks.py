"""What `bascule doctor` checks of the lock: whether tools are held against what was approved, and what waits."""

from collections.abc import Iterator

from bascule.catalog.pinning.lock import LOCK_NAME, Lock
from bascule.cli.doctor.check import Check, failed
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.tool import ToolSpec, ToolStatus

SHOWN = 5
"""Tools that are named. `bascule approve` shows them all."""


def lock_checks(config: RuntimeConfig, lock: Lock, specs: tuple[ToolSpec, ...]) -> Iterator[Check]:
    if config.lock == "off":
        yield Check("lock", "ok", "off: what servers change is told, and not kept back")
    elif lock.trouble is not None:
        yield failed("lock", lock.trouble)
    elif lock.every and not lock.servers:
        told = f"`catalog.lock` is required, and no tool is approved in a {LOCK_NAME} beside {config.path}"
        yield Check("lock", "fail", told, fix="look at the tools and approve them with `bascule approve --all`")
    elif not lock.servers:
        yield Check("lock", "ok", f"no {LOCK_NAME}: what servers change is told, and not kept back")
    else:
        tools = sum(map(len, lock.servers.values()))
        yield Check("lock", "ok", f"{LOCK_NAME} approves {tools} tools of {len(lock.servers)} servers")
        yield from _waiting(lock, [spec for spec in specs if waits(spec, lock)])


def waits(spec: ToolSpec, lock: Lock) -> bool:
    """Whether a tool is kept from agents until somebody approves it."""
    held = spec.status is ToolStatus.QUARANTINED and lock.covers(spec.key.server)
    return held and not lock.approves(spec.key, spec.digest)


def _waiting(lock: Lock, waiting: list[ToolSpec]) -> Iterator[Check]:
    changed = [spec for spec in waiting if lock.approved(spec.key) is not None]
    new = [spec for spec in waiting if lock.approved(spec.key) is None]
    for specs, what in ((changed, "changed since approved"), (new, "new since approved")):
        if specs:
            told = f"{len(specs)} {'tool is' if len(specs) == 1 else 'tools are'} {what}, and kept from agents"
            # The reason is told without the remedy, which is the same for all.
            evidence = "\n".join(f"{spec.name}: {spec.problem.partition(';')[0]}" for spec in specs[:SHOWN])
            servers = " ".join(sorted({spec.key.server for spec in specs}))
            yield Check("lock", "warn", told, evidence, f"look at it and agree: run `bascule approve {servers}`")
