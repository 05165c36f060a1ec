"""`bascule read`: one resource, its text on stdout, anything else on stderr."""

import argparse

from bascule.cli import exit_codes
from bascule.cli.json_output.answers import FailureShape, ReadShape
from bascule.cli.output.level_messages import advised
from bascule.cli.output.outcomes import failure_shape, show, taken
from bascule.cli.session import agent_session
from bascule.core.outcome import ResourceResult, ToolFailure


async def run(options: argparse.Namespace) -> int:
    async with agent_session(options) as session:
        outcome = advised(await session.read(options.uri, server=options.server, timeout=options.timeout), session)
    show(outcome, as_shape(outcome), as_json=options.json)
    return exit_codes.of_outcome(outcome)


def as_shape(outcome: ResourceResult | ToolFailure) -> ReadShape | FailureShape:
    """The outcome in its documented JSON shape."""
    if isinstance(outcome, ToolFailure):
        return failure_shape(outcome)
    return {
        "ok": True,
        "text": outcome.text,
        "contents": outcome.contents,
        "server": outcome.server,
        "uri": outcome.uri,
        **taken(outcome),
    }
