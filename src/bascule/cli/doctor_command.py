"""`bascule doctor`: checks everything a call depends on, and says how to mend what is wrong."""

import argparse
import os
from collections.abc import Iterator

import msgspec

from bascule.cli import exit_codes
from bascule.cli.explain import json_line, legible
from bascule.cli.opening import acting_for
from bascule.config.load import load_file
from bascule.config.locate import locate
from bascule.config.model import RuntimeConfig
from bascule.config.state import state_folder
from bascule.core.errors import BasculeError, ConfigError
from bascule.core.finding import Finding
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.runtime.report import ServerReport
from bascule.runtime.runtime import Runtime
from bascule.sandbox.nursery import Reach, reach, why_without

SHOWN = 5
"""Lines of evidence. `bascule inspect` has them all."""

MARKS = {"ok": "✓", "warn": "!", "fail": "✗"}


class Check(msgspec.Struct, frozen=True):
    """One thing that was looked at."""

    subject: str
    status: str
    message: str
    evidence: str = ""
    fix: str = ""


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
    return exit_codes.USAGE if checks[0].status == "fail" else exit_codes.UNREACHABLE


async def examine(options: argparse.Namespace) -> list[Check]:
    """Every check that can be made. One that fails leaves out only those that depend on it."""
    try:
        config = load_file(locate(options.config, os.environ), os.environ)
    except ConfigError as error:
        return [failed("config", error)]
    checks = [Check("config", "ok", f"{config.path} names {len(config.servers)} servers")]
    checks += [Check("config", "warn", note) for note in config.notes]
    user, session_id = acting_for(options)
    try:
        async with Runtime(config, prove_required=False) as runtime:
            checks.append(Check("state", "ok", f"kept in {_where(config)}"))
            session = runtime.session(user, session_id)
            reports = [report async for report in session.connecting()]
            for report in sorted(reports, key=lambda report: report.name):
                checks += server_checks(report, session.toolbox.all_specs())
            checks.append(process_check(reach(), why_without()))
    except BasculeError as error:
        checks.append(failed("state", error))
    return checks


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


def failed(subject: str, error: BasculeError) -> Check:
    cause = f" ({error.cause})" if error.cause else ""
    return Check(subject, "fail", f"{error.code} {error.message}{cause}", error.evidence, error.fix)


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
    return config.store or str(state_folder(os.environ))
