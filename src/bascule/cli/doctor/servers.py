"""Health checks of servers: reachability, tool listings, limits of model APIs, pinned package versions, names and
working directory."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from bascule.catalog.model_api_limits import refusals
from bascule.cli.doctor.check import Check, Insight, explained, failed
from bascule.cli.mcp_registry.pinning import unpinned
from bascule.cli.output.level_messages import how_to_go_on
from bascule.config.model.runtime_config import RuntimeConfig, ServerConfig
from bascule.config.model.transport import StdioTransport
from bascule.core.errors import Refused, TwinDiffers
from bascule.core.finding import Finding
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.runtime.servers.status import ServerReport
from bascule.runtime.session import AgentSession
from bascule.runtime.tool_search import PAIR

SHOWN = 5
"""Lines of evidence. `bascule inspect` has them all."""


def in_the_way(report: ServerReport, session: AgentSession) -> ServerReport:
    """A server that is kept from the agent session has nothing that could be mended: what there is to do is told. A
    twin that is another server has."""
    advice = how_to_go_on(session)
    if not advice or not isinstance(report.error, Refused) or isinstance(report.error, TwinDiffers):
        return report
    return replace(report, error=None, agreement=None, reason=f"{report.error.message}; {advice}")


def server_checks(
    report: ServerReport, specs: tuple[ToolSpec, ...], insights: Iterable[Insight] = ()
) -> Iterator[Check]:
    """`specs` are those that have a check of their own; `insights` what is known of why it fails."""
    subject = f"server {report.name}"
    if report.error is not None:
        yield explained(failed(subject, report.error), list(insights))
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


def tool_checks(spec: ToolSpec) -> Iterator[Check]:
    # One that has the name of another is told of once, with the other.
    if spec.status not in {ToolStatus.EXPOSED, ToolStatus.HIDDEN, ToolStatus.COLLIDING}:
        yield Check(f"tool {spec.name}", "warn", f"{spec.status}: {spec.problem}")
    if spec.findings:
        yield _found(f"tool {spec.name}", spec.findings, spec.name)


def collision_checks(specs: Iterable[ToolSpec]) -> Iterator[Check]:
    """Tools that would have one name, so that none of them is given to agents."""
    named: dict[str, list[ToolSpec]] = {}
    for spec in specs:
        if spec.status is ToolStatus.COLLIDING:
            named.setdefault(spec.name, []).append(spec)
    for name, among in named.items():
        keys = sorted(str(spec.key) for spec in among)
        server = max(spec.key.server for spec in among)
        told = f"{len(keys)} tools would have this name, so agents are given none of them"
        fix = f"set `prefix: {server}` for the server {server}, or block one under its `tools`"
        yield Check(f"tool {name}", "warn", told, "\n".join(keys[:SHOWN]), fix)


def _found(subject: str, findings: tuple[Finding, ...], name: str) -> Check:
    return Check(
        subject,
        "warn",
        "its texts may mislead a model",
        "\n".join(map(str, findings[:SHOWN])),
        f"read them with `bascule inspect {name}`; block what you do not trust under `tools`",
    )


def _told(report: ServerReport) -> str:
    assert report.change is not None
    parts = (("new", report.change.added), ("changed", report.change.changed), ("gone", report.change.removed))
    return "since the last run: " + "; ".join(f"{word}: {', '.join(names[:5])}" for word, names in parts if names)


def model_checks(specs: Iterable[ToolSpec]) -> Iterator[Check]:
    """One check for each tool that an agent would be given, and a model API would refuse."""
    for spec in specs:
        if spec.status is not ToolStatus.EXPOSED:
            continue
        found = list(refusals(spec))
        if found:
            who = " and ".join(dict.fromkeys(api for api, _ in found))
            reasons = list(dict.fromkeys(f"{_refuse(found, why)}: {why}" for _, why in found))
            told = f"{who} would refuse every request with this tool in it"
            yield Check(f"tool {spec.name}", "warn", told, "\n".join(reasons[:SHOWN]), _fix(spec))


def _refuse(found: list[tuple[str, str]], why: str) -> str:
    return ", ".join(api for api, reason in found if reason == why)


def _fix(spec: ToolSpec) -> str:
    server, tool = spec.key.server, spec.key.tool
    return (
        f"report it to the author of {server}; until then keep it from agents: under {server}, "
        f'`tools: {{block: ["{tool}"]}}`'
    )


def pinning_checks(server: ServerConfig) -> Iterator[Check]:
    """Whether what a server's command fetches is of an exact version."""
    if isinstance(server.transport, StdioTransport):
        found = unpinned([server.transport.command, *server.transport.args])
        if found is not None:
            yield Check(f"package {server.name}", "warn", found[0], fix=found[1])


def name_checks(config: RuntimeConfig, specs: Iterable[ToolSpec]) -> Iterator[Check]:
    """Whether a server's own tool has a name of one of the two that find and call tools."""
    taken = [spec for spec in specs if spec.name in PAIR] if config.search_above is not None else []
    for spec in taken:
        told = f"`catalog.search_above` gives the name to a tool of ours: {spec.key} is reached through call_tool alone"
        yield Check(f"tool {spec.name}", "warn", told, fix=f"set `prefix` on the server {spec.key.server}")


_SCRIPTS = (".py", ".js", ".mjs", ".cjs", ".ts", ".sh", ".rb", ".jar")


def path_insight(server: ServerConfig, config: Path | None) -> list[Insight]:
    """A script among the arguments that is not where the server looks for it."""
    transport = server.transport
    if not isinstance(transport, StdioTransport):
        return []
    here = Path(transport.cwd or os.curdir).absolute()
    lost = next((arg for arg in transport.args if _is_lost(arg, here)), None)
    if lost is None or not here.is_dir():
        return []
    said = f"`cwd` is {transport.cwd}" if transport.cwd else "`cwd` is not set"
    return [Insight(f"there is no {lost} in {here}", said, _path_fix(lost, here, config))]


def _is_lost(arg: str, here: Path) -> bool:
    return arg.endswith(_SCRIPTS) and not arg.startswith("-") and "://" not in arg and not (here / arg).is_file()


def _path_fix(lost: str, here: Path, config: Path | None) -> str:
    beside = config.parent if config is not None else here
    if beside != here and (beside / lost).is_file():
        return f"set `cwd: {beside}` for this server, or write the whole path: {beside / lost}"
    return "set `cwd` to the folder that has it, or write its whole path"
