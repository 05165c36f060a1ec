"""`bascule doctor`: checks everything a call depends on, and says how to mend what is wrong."""

import argparse
import os
from collections.abc import Iterator
from dataclasses import replace

from bascule.catalog.lock import LOCK_NAME, Lock
from bascule.cli import exit_codes
from bascule.cli.box_checks import box_check, engine_checks, reaped_check, sealed_checks
from bascule.cli.check import Check, failed
from bascule.cli.explain import json_line, legible
from bascule.cli.level_checks import footing_check, key_check, store_checks
from bascule.cli.level_words import how_to_go_on
from bascule.cli.opening import acting_for
from bascule.cli.package_checks import name_checks, pinning_checks
from bascule.cli.progress import follow
from bascule.config.load import load_file
from bascule.config.locate import locate
from bascule.config.model import RuntimeConfig
from bascule.config.state import state_folder
from bascule.config.urls import shown_store
from bascule.core.errors import BasculeError, ConfigError, Refused, TwinDiffers
from bascule.core.finding import Finding
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.runtime.report import ServerReport
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession
from bascule.sandbox.nursery import Reach, reach, why_without
from bascule.store.choose import store_at

SHOWN = 5
"""Lines of evidence. `bascule inspect` has them all."""

MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


async def run(options: argparse.Namespace) -> int:
    checks = await examine(options)
    ok = all(check.status != "fail" for check in checks)
    if options.json:
        print(json_line({"ok": ok, "checks": checks}))
    else:
        for check in checks:
            print(legible("\n".join(lines(check))))
        print("\nall is well" if ok else f"\n{sum(check.status == 'fail' for check in checks)} to mend")
    if ok:
        return exit_codes.OK
    ours = any(check.status == "fail" and check.subject in {"config", "lock"} for check in checks)
    return exit_codes.USAGE if ours else exit_codes.UNREACHABLE


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
    user, session_id = acting_for(options)
    # Before the runtime makes one.
    key = key_check(state_folder(os.environ))
    try:
        kept = await _kept(config)
        checks += [Check("state", "ok", f"kept in {_where(config)}"), key, *kept]
        if any(check.status == "fail" for check in kept):
            # Without its level no agent session begins, and nothing more can be looked at.
            return checks
        async with Runtime(config, sinks=(follow,), prove_required=False, metrics_page=False) as runtime:
            session = runtime.session(user, session_id)
            checks += await engine_checks(config, session.boxing)
            reports = [report async for report in session.connecting()]
            for report in sorted(reports, key=lambda report: report.name):
                checks += server_checks(in_the_way(report, session), session.toolbox.all_specs())
                server = config.servers[report.name]
                checks += [
                    *pinning_checks(server),
                    *box_check(server, session.boxing),
                    *await sealed_checks(server, session),
                ]
                checks.append(footing_check(server, boxed=session.boxed(report.name)))
            checks += name_checks(config, session.toolbox.specs())
            await session.look_at_lock()
            checks += lock_checks(config, session.lock, session.toolbox.all_specs())
            checks.append(process_check(reach(), why_without()))
    except BasculeError as error:
        checks.append(failed("state", error))
    return checks


async def _kept(config: RuntimeConfig) -> list[Check]:
    """What is kept of levels, as it was found: by a look of its own, which no runtime takes part in."""
    store = store_at(config.store, state_folder(os.environ))
    await store.open()
    try:
        return await store_checks(store.levels)
    finally:
        await store.close()


def in_the_way(report: ServerReport, session: AgentSession) -> ServerReport:
    """A server that is kept from the agent session has nothing that could be mended: what there is to do is told. A
    twin that is another server has."""
    advice = how_to_go_on(session)
    if not advice or not isinstance(report.error, Refused) or isinstance(report.error, TwinDiffers):
        return report
    return replace(report, error=None, agreement=None, reason=f"{report.error.message}; {advice}")


def server_checks(report: ServerReport, specs: tuple[ToolSpec, ...]) -> Iterator[Check]:
    subject = f"server {report.name}"
    if report.error is not None:
        yield failed(subject, report.error)
        return
    took = f"{report.tools} tools, protocol {report.version}, {report.seconds * 1000:.0f} ms"
    yield Check(subject, "warn" if report.reason else "ok", report.reason or took)
    for note in report.notes:
        yield Check(subject, "warn", note)
    if report.repairs:
        told = f"{len(report.repairs)} sloppy parts of its definitions were put right"
        yield Check(subject, "warn", told, "\n".join(report.repairs[:SHOWN]), "report this to the author of the server")
    if report.findings:
        yield _found(subject, report.findings, report.name)
    for spec in specs:
        if spec.key.server == report.name:
            yield from tool_checks(spec)
    if report.change is not None:
        yield Check(subject, "warn", _told(report), fix=f"look at it with `bascule inspect {report.name}`")


def lock_checks(config: RuntimeConfig, lock: Lock, specs: tuple[ToolSpec, ...]) -> Iterator[Check]:
    """Whether tools are held against what was approved, and what waits."""
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
        waiting = [spec.name for spec in specs if lock.covers(spec.key.server) and _waits(spec, lock)]
        if waiting:
            shown = "\n".join(waiting[:SHOWN])
            yield Check("lock", "warn", f"{len(waiting)} tools wait for approval", shown, "run `bascule approve`")


def _waits(spec: ToolSpec, lock: Lock) -> bool:
    return spec.status is ToolStatus.QUARANTINED and not lock.approves(spec.key, spec.digest)


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


def tool_checks(spec: ToolSpec) -> Iterator[Check]:
    if spec.status not in {ToolStatus.EXPOSED, ToolStatus.HIDDEN}:
        yield Check(f"tool {spec.name}", "warn", f"{spec.status}: {spec.problem}")
    if spec.findings:
        yield _found(f"tool {spec.name}", spec.findings, spec.name)


def _found(subject: str, findings: tuple[Finding, ...], name: str) -> Check:
    return Check(
        subject,
        "warn",
        "its texts may mislead a model",
        "\n".join(map(str, findings[:SHOWN])),
        f"read them with `bascule inspect {name}`; block what you do not trust under `tools`",
    )


def lines(check: Check) -> Iterator[str]:
    yield f"{MARKS[check.status]} {check.subject}: {check.message}"
    for label, text in (("evidence", check.evidence), ("fix", check.fix)):
        for line in text.split("\n") if text else ():
            yield f"    {label + ':':<10}{line}"


def _told(report: ServerReport) -> str:
    assert report.change is not None
    parts = (("new", report.change.added), ("changed", report.change.changed), ("gone", report.change.removed))
    return "since the last run: " + "; ".join(f"{word}: {', '.join(names[:5])}" for word, names in parts if names)


def _where(config: RuntimeConfig) -> str:
    return shown_store(config.store) if config.store else str(state_folder(os.environ))
