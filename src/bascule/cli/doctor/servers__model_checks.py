"""What `bascule doctor` checks of tools: that the model APIs take their definitions."""

from collections.abc import Iterable, Iterator

from bascule.catalog.model_api_limits import refusals
from bascule.cli.doctor.check import Check
from bascule.core.tool import ToolSpec, ToolStatus

SHOWN = 5
"""Reasons that are told of one tool."""


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
