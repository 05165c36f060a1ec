"""What `bascule doctor` checks of each server: that it is reached, what it lists, and what is odd about that."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from bascule.cli.doctor.check import Check, Insight, explained, failed
from bascule.cli.output.level_messages import how_to_go_on
from bascule.core.errors import Refused, TwinDiffers
from bascule.core.finding import Finding
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.runtime.servers.status import ServerReport
from bascule.runtime.session import AgentSession

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
