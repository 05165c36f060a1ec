"""`bascule prompt`: one prompt with its arguments filled in, its messages on stdout and everything else on stderr."""

import argparse
from collections.abc import Sequence

from bascule.cli import exit_codes
from bascule.cli.json_output.answers import FailureShape, PromptShape
from bascule.cli.output.level_messages import advised
from bascule.cli.output.outcomes import failure_shape, show, taken
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import REQUESTED, add_common, add_timeout
from bascule.cli.session import agent_session
from bascule.core.errors import UsageError
from bascule.core.outcome import PromptResult, ToolFailure

_EXAMPLES = """\
  bascule prompt notes_summary style=short
  bascule prompt notes_summary style=short --json  every message of it, with its role"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES, REQUESTED))
    command.add_argument("name", metavar="PROMPT", help="the exposed name, as `bascule list --prompts` shows it")
    command.add_argument("arguments", metavar="KEY=VALUE", nargs="*", help="an argument; its value is text")
    add_timeout(command)


async def run(options: argparse.Namespace) -> int:
    arguments = read_pairs(options.arguments)
    async with agent_session(options) as session:
        outcome = advised(await session.prompt(options.name, arguments, timeout=options.timeout), session)
    show(outcome, as_shape(outcome), as_json=options.json)
    return exit_codes.of_outcome(outcome)


def read_pairs(pairs: Sequence[str]) -> dict[str, str]:
    """Texts by their names. Prompts take nothing else."""
    arguments: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"{pair!r} is not KEY=VALUE", fix="write arguments like style=short")
        arguments[key] = value
    return arguments


def as_shape(outcome: PromptResult | ToolFailure) -> PromptShape | FailureShape:
    """The outcome in its documented JSON shape."""
    if isinstance(outcome, ToolFailure):
        return failure_shape(outcome)
    return {
        "ok": True,
        "text": outcome.text,
        "description": outcome.description,
        "messages": outcome.messages,
        "server": outcome.server,
        "prompt": outcome.prompt,
        **taken(outcome),
    }
