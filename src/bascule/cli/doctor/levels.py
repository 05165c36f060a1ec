"""Health checks of sensitivity levels and tool pinning: network lanes of each server, key and store of the levels,
drift from `bascule.lock`."""

import stat
from collections.abc import Iterator
from pathlib import Path

from bascule.catalog.pinning.lock import LOCK_NAME, Lock
from bascule.cli.doctor.check import Check, failed
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.core.errors import StoreError
from bascule.core.sensitivity import DataSensitivity
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.policy.containment import Footing, goes_on
from bascule.runtime.servers.lane_links import footing
from bascule.store.levels.interface import LevelStore, SessionRecord
from bascule.store.levels.position import Position
from bascule.store.secrets.key_files import FOLDER
from bascule.store.secrets.keys import LEVEL_KEY
from bascule.workspace.level_marks import LevelMarks

SHOWN = 5
"""Agent sessions that are named. `bascule sessions` has them all."""

BEYOND = Position((1 << 62) - 1)
"""Position that no change will ever have. Every runtime that runs lags behind it."""


def footing_check(server: ServerConfig, *, boxed: bool) -> Check:
    """What becomes of a server's tools once private data is on board. `boxed`: whether its own command in a tighter box
    stands in for it."""
    subject, stands = f"footing {server.name}", footing(server, boxed=boxed)
    match stands:
        case Footing.CONFINED:
            twin = f"declared ({server.isolated.kind})" if server.isolated is not None else "the same in a tighter box"
            where = f"its twin is {twin}, and opened {_WHEN[server.twin]}"
            return Check(subject, "ok", f"confined: {where}; every tool goes on there")
        case Footing.LOOSE:
            fix = "if private data is to be worked with, give it a twin: `url_isolated` or `command_isolated`"
            return Check(subject, "ok", "loose: from CONFIDENTIAL on it is asked nothing", fix=fix)
        case Footing.NATIVE:
            told = "native: from CONFIDENTIAL on, those of its functions go on that say they do not connect"
            return Check(subject, "ok", told)
        case Footing.VOUCHED_CONFIDENTIAL | Footing.VOUCHED_SECRET:
            told = f"{stands}: that it has no way out is the operator's word, and nothing checks it"
            highest = max(level for level in DataSensitivity if goes_on(level, stands))
            evidence = f"up to {highest.name} it is asked all that does not connect"
            return Check(subject, "warn", told, evidence, "give it a twin instead, if it can have one")


_WHEN = {"lazy": "when it is first needed", "eager": "with the server itself"}


def key_check(state_folder: Path) -> Check:
    """The key under which levels are stated. Made where levels are first asked for, so it may not be there yet."""
    path = state_folder / FOLDER / LEVEL_KEY
    try:
        found = path.lstat()
    except FileNotFoundError:
        return Check("level key", "ok", f"{path} is not there yet; it is made with the first agent session")
    except OSError as error:
        return Check("level key", "fail", f"{path} cannot be looked at: {error.strerror or error}")
    mode = stat.S_IMODE(found.st_mode)
    if not stat.S_ISREG(found.st_mode) or mode != 0o600:
        fix = f"run `chmod 600 {path}` if nobody else has used this machine; else remove it: all levels are SECRET then"
        return Check(
            "level key", "fail", f"{path} must be a file that only its owner can read", f"mode {mode:04o}", fix
        )
    return Check("level key", "ok", f"{path}, which only its owner can read")


async def store_checks(levels: LevelStore, marks: LevelMarks | None = None) -> list[Check]:
    """Checks that levels can be read and are not in doubt, and counts the runtimes that a raise waits for. `marks` are
    the level marks of the workspaces on this machine."""
    try:
        records = await levels.sessions()
        if marks is not None:
            await marks.identify()
            records = await marks.judge(records)
        runtimes = (await levels.laggards(BEYOND)).lagging
    except StoreError as error:
        return [failed("levels", error)]
    return [*_level_checks(records), Check("runtimes", "ok", _told(len(runtimes)))]


def _level_checks(records: tuple[SessionRecord, ...]) -> Iterator[Check]:
    private = sum(record.level >= DataSensitivity.CONFIDENTIAL for record in records)
    doubted = [record for record in records if record.doubt]
    yield Check("levels", "ok", f"{len(records)} agent sessions are kept, {private} of them private")
    if doubted:
        named = "\n".join(f"{record.principal}: {record.doubt}" for record in doubted[:SHOWN])
        more = f"\nand {len(doubted) - SHOWN} more" if len(doubted) > SHOWN else ""
        fix = (
            f"put back what was lost ({LEVEL_KEY}, the database, the journal or a level mark); or look at them with "
            "`bascule sessions`, and lower those you can answer for with `bascule sessions declassify`"
        )
        told = f"{len(doubted)} agent sessions are SECRET because what is kept of them cannot be believed"
        yield Check("levels", "warn", told, named + more, fix)


def _told(count: int) -> str:
    if not count:
        return "none is registered"
    return f"{count} registered; a raise waits for each to hear of it, for 2 s if it is gone"


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
