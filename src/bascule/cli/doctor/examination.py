"""Order of the health checks: config, state folder, runtime, servers. A failed check leaves out only the checks that
depend on it."""

import argparse
import asyncio
import os
import time
from collections.abc import Sequence

from bascule.cli.doctor.certificates import certificate_check, certificate_insight, certificate_of
from bascule.cli.doctor.check import Check, failed
from bascule.cli.doctor.levels import footing_check, key_check, lock_checks, waits
from bascule.cli.doctor.network import dashboard_checks, gateway_checks, telemetry_checks
from bascule.cli.doctor.node import node_check, old_node
from bascule.cli.doctor.sandbox import box_check, engine_checks, mask_checks, reaped_check, sealed_checks
from bascule.cli.doctor.servers import (
    collision_checks,
    in_the_way,
    model_checks,
    name_checks,
    path_insight,
    pinning_checks,
    server_checks,
)
from bascule.cli.doctor.storage import audit_checks, folder_checks, kept_checks
from bascule.cli.output.progress import follow
from bascule.cli.session import acting_for
from bascule.config.loading.load import load_file
from bascule.config.locate import locate
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.state_dir import state_folder
from bascule.core.errors import BasculeError, ConfigError
from bascule.core.tool import ToolSpec
from bascule.runtime.runtime import Runtime
from bascule.runtime.servers.status import ServerReport
from bascule.runtime.session import AgentSession
from bascule.sandbox.process.fork_server import Reach, reach, why_without


async def examine(options: argparse.Namespace) -> list[Check]:
    """Every check that can be made. One that fails leaves out only those that depend on it."""
    try:
        config = load_file(locate(options.config, os.environ), os.environ)
    except ConfigError as error:
        return [failed("config", error)]
    checks = [Check("config", "ok", f"{config.path} names {len(config.servers)} servers")]
    checks += [Check("config", "warn", note) for note in config.notes]
    if options.reap:
        checks.append(await reaped_check(state_folder(os.environ), os.environ))
    beside = asyncio.gather(gateway_checks(config), telemetry_checks(config.telemetry))
    try:
        checks += await _depending(options, config)
    except BasculeError as error:
        checks.append(failed("state", error))
    for found in await beside:
        checks += found
    return [*checks, *dashboard_checks(config, os.environ)]


async def _depending(options: argparse.Namespace, config: RuntimeConfig) -> list[Check]:
    """What needs the state folder, and then a runtime."""
    user, session_id = acting_for(options)
    folders = folder_checks(config, os.environ)
    if _is_bad(folders):
        # Nothing can be kept, so that no agent session begins: that is the one thing to mend.
        return folders
    # Before the runtime makes one.
    key = key_check(state_folder(os.environ))
    kept = await kept_checks(config, os.environ)
    audit = await audit_checks(config, state_folder(os.environ), time.time())
    checks = [*folders, *kept[:1], key, *kept[1:], *audit]
    if _is_bad([*kept, *audit]):
        # Without its level or the log no agent session begins, and nothing more can be looked at.
        return checks
    async with Runtime(config, sinks=(follow,), prove_required=False, metrics_page=False) as runtime:
        session = runtime.session(user, session_id)
        return [*checks, *await _session_checks(config, session)]


async def _session_checks(config: RuntimeConfig, session: AgentSession) -> list[Check]:
    checks = await engine_checks(config, session.boxing)
    reports = sorted([report async for report in session.connecting()], key=lambda report: report.name)
    await session.look_at_lock()
    specs = session.toolbox.all_specs()
    told = tuple(spec for spec in specs if not waits(spec, session.lock))
    for found in await asyncio.gather(*(_checks_of(report, config, session, told) for report in reports)):
        checks += found
    return [
        *checks,
        *collision_checks(specs),
        *model_checks(specs),
        *name_checks(config, session.toolbox.specs()),
        *lock_checks(config, session.lock, specs),
        process_check(reach(), why_without()),
    ]


async def _checks_of(
    report: ServerReport, config: RuntimeConfig, session: AgentSession, specs: tuple[ToolSpec, ...]
) -> list[Check]:
    """All that is checked of one server."""
    server, report = config.servers[report.name], in_the_way(report, session)
    said = report.error.evidence if report.error is not None else ""
    shown, node = await asyncio.gather(certificate_of(server), old_node(server, os.environ, said))
    checks: list[Check] = []
    if report.error is not None:
        known = [*([node.insight] if node is not None else ()), *path_insight(server, config.path)]
        checks += server_checks(report, specs, [*known, *certificate_insight(shown)])
    else:
        checks += [*server_checks(report, specs), *node_check(report.name, node)]
        checks += [*certificate_check(report.name, shown, time.time()), *box_check(server, session.boxing)]
        checks += [check async for check in mask_checks(server, session.boxing)]
        checks += await sealed_checks(server, session)
    return [*checks, *pinning_checks(server), footing_check(server, boxed=session.boxed(report.name))]


def _is_bad(checks: Sequence[Check]) -> bool:
    return any(check.status == "fail" for check in checks)


def process_check(reached: Reach, why: str) -> Check:
    """What the end of a server's process ends with it."""
    subject = "processes"
    match reached:
        case "tree":
            return Check(subject, "ok", "servers are ended with all they have started, also if we are killed")
        case "group":
            told = "servers are ended with their process groups, also if we are killed; what leaves a group goes on"
            return Check(subject, "warn", told, fix="Linux 5.3 or newer with /proc tells all that a server has started")
        case "group while we live":
            told = "servers are ended with their process groups; if we are killed, they go on"
            fix = "run Bascule with a Python that can be started as a program, from files"
            return Check(subject, "warn", told, why, fix)
