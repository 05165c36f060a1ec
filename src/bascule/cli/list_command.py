"""`bascule list`: every server as soon as it is known how it stands, with its tools."""

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bascule.cli import exit_codes
from bascule.cli.explain import as_json, explain, finding_mark, finding_shapes, first_line, json_line, legible
from bascule.cli.level_words import how_to_go_on
from bascule.cli.offers import offers_shape, show_offers, wanted
from bascule.cli.opening import agent_session
from bascule.cli.token_costs import add_costs, cost_lines
from bascule.core.errors import Refused
from bascule.core.tool import ToolSpec, ToolStatus
from bascule.links.state import LinkState
from bascule.runtime.report import ServerReport
from bascule.runtime.session import AgentSession

if TYPE_CHECKING:
    from rich.console import Console

_COLOURS = {
    LinkState.READY: "green",
    LinkState.DEGRADED: "yellow",
    LinkState.NEEDS_AUTH: "yellow",
    LinkState.FAILED: "red",
}

_SHOWN = frozenset({ToolStatus.EXPOSED, ToolStatus.QUARANTINED, ToolStatus.COLLIDING, ToolStatus.UNUSABLE})
"""What a listing shows. A tool the operator has hidden is not part of what agents see."""


async def run(options: argparse.Namespace) -> int:
    async with agent_session(options) as session:
        if options.json:
            reports = [report async for report in session.connecting()]
            specs = session.toolbox.all_specs()
            shape = as_shape(session.servers(), specs)
            if options.tokens:
                add_costs(shape, specs)
            if wanted(options):
                shape |= offers_shape(await session.library(), wanted(options))
            print(json_line(shape))
        else:
            reports = await _show_as_they_settle(session)
            if options.tokens:
                print("", *map(legible, cost_lines(session.toolbox.all_specs())), sep="\n")
            if wanted(options):
                show_offers(await session.library(), wanted(options))
        advice = how_to_go_on(session)
        if advice and any(isinstance(report.error, Refused) for report in reports):
            print(legible(f"note: {advice}"), file=sys.stderr)
    return exit_codes.UNREACHABLE if any(r.required and r.error is not None for r in reports) else exit_codes.OK


async def _show_as_they_settle(session: AgentSession) -> list[ServerReport]:
    from rich.console import Console  # noqa: PLC0415 -- only where something is drawn

    console = Console(highlight=False, soft_wrap=True)
    reports: list[ServerReport] = []
    async for report in session.connecting():
        reports.append(report)
        _show(console, report, [spec for spec in session.toolbox.all_specs() if spec.key.server == report.name])
    for spec in session.toolbox.all_specs():
        # Shown again at the end: a tool may have been fine until a later server brought another of its name.
        if spec.status is ToolStatus.COLLIDING:
            console.print(_tool_line(spec))
    good = sum(report.error is None for report in reports)
    console.print(f"\n{len(session.toolbox.specs())} tools on {good} of {len(reports)} servers", style="bold")
    return reports


def _show(console: "Console", report: ServerReport, specs: Iterable[ToolSpec]) -> None:
    from rich.text import Text  # noqa: PLC0415 -- a server's words are printed as they are, never as markup

    head = Text.assemble(
        (f"{report.name:<20}", "bold"),
        (f"{report.state:<11}", _COLOURS.get(report.state, "")),
        f"{report.tools:>4} tools  {report.version or '-':<11}{report.seconds * 1000:>8.0f} ms",
    )
    console.print(head)
    for note in report.notes:
        console.print(Text(f"  note: {note}", "dim"))
    if report.repairs:
        told = f"{len(report.repairs)} sloppy parts of its definitions were put right"
        console.print(Text(f"  note: {told}; `bascule inspect {report.name}` shows them", "dim"))
    for finding in report.findings:
        console.print(Text(f"  ! {legible(str(finding))}", "yellow"))
    if report.error is not None:
        console.print(Text("\n".join(f"  {line}" for line in explain(report.error).split("\n"))))
    elif report.reason:
        console.print(Text(f"  {legible(report.reason)}", "yellow"))
    for spec in sorted((spec for spec in specs if spec.status in _SHOWN), key=lambda spec: spec.name):
        console.print(_tool_line(spec))


def _tool_line(spec: ToolSpec) -> Any:
    from rich.text import Text  # noqa: PLC0415

    if spec.status is not ToolStatus.EXPOSED:
        return Text(f"  {spec.name:<40} {spec.status}: {legible(spec.problem)}", "yellow")
    mark = finding_mark(spec.findings)
    return Text.assemble((f"  {spec.name:<40}", "cyan"), " ", (mark, "yellow"), first_line(spec.description))


def as_shape(reports: Iterable[ServerReport], specs: Iterable[ToolSpec]) -> dict[str, Any]:
    """The listing in its documented JSON shape."""
    return {
        "servers": [
            {
                "name": report.name,
                "transport": report.transport,
                "state": report.state,
                "era": report.version,
                "tools": report.tools,
                "ms": round(report.seconds * 1000, 1),
                "error": as_json(report.error) if report.error is not None else None,
            }
            for report in reports
        ],
        "tools": [
            {
                "name": spec.name,
                "server": spec.key.server,
                "tool": spec.key.tool,
                "permissions": sorted(spec.permissions),
                "digest": spec.digest,
                "description": spec.description,
                "status": spec.status,
                "problem": spec.problem,
                "findings": finding_shapes(spec.findings),
            }
            for spec in specs
            if spec.status in _SHOWN
        ],
    }
