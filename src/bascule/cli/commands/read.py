"""`bascule read`: one resource, its text on stdout and everything else on stderr."""

import argparse

from bascule.cli import exit_codes
from bascule.cli.json_output.answers import FailureShape, ReadShape
from bascule.cli.output.level_messages import advised
from bascule.cli.output.outcomes import failure_shape, show, taken
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import REQUESTED, add_common, add_timeout
from bascule.cli.session import agent_session
from bascule.core.outcome import ResourceResult, ToolFailure

_EXAMPLES = """\
  bascule read notes://all
  bascule read file:///data/a.txt --server files  where several servers could be meant, or none lists it"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES, REQUESTED))
    command.add_argument("uri", metavar="URI", help="the resource's URI, as `bascule list --resources` shows it")
    command.add_argument("--server", metavar="SERVER", help="the server to ask; default: the one that lists it")
    add_timeout(command)


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
