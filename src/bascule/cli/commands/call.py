"""`bascule call`: one governed tool call, its result on stdout and everything else on stderr."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from bascule.cli import exit_codes
from bascule.cli.json_output.answers import CallShape, FailureShape
from bascule.cli.output.level_messages import advised
from bascule.cli.output.outcomes import failure_shape, show, taken
from bascule.cli.output.progress import doing, done, tool_progress
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import REQUESTED, add_common, add_timeout
from bascule.cli.session import agent_session
from bascule.core.errors import UsageError
from bascule.core.json_types import as_object, is_object
from bascule.core.outcome import Outcome, ToolFailure

_EXAMPLES = """\
  bascule call everything_echo message=hi
  bascule call files_read_text_file path=/data/a.txt --timeout 5
  bascule call search_find tags:='["a","b"]' limit:=10  := takes JSON
  bascule call search_find --arguments '{"tags": ["a"]}'"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES, REQUESTED))
    command.add_argument("tool", metavar="TOOL", help="the exposed name, as `bascule list` shows it")
    command.add_argument("arguments", metavar="KEY=VALUE", nargs="*", help="an argument; KEY:=JSON for other than text")
    command.add_argument("--arguments", dest="object", metavar="JSON", help="all arguments as one JSON object")
    add_timeout(command)


async def run(options: argparse.Namespace) -> int:
    given = read_pairs(options.arguments, options.object)
    async with agent_session(options) as session:
        spec = await session.find(options.tool)
        arguments = typed(given, spec.input_schema if spec is not None else {})
        doing(options.tool, "running")
        told = tool_progress(options.tool)
        called = await session.call(options.tool, arguments, timeout=options.timeout, on_progress=told)
        done(options.tool)
        outcome = advised(called, session)
    show(outcome, as_shape(outcome), as_json=options.json)
    return exit_codes.of_outcome(outcome)


class Word(str):
    """A value as it was typed, whose type the tool's schema will tell."""

    __slots__ = ()


def read_pairs(pairs: Sequence[str], whole: str | None) -> dict[str, Any]:
    arguments: dict[str, Any] = {}
    if whole is not None:
        parsed = _json(whole, "--arguments")
        if not is_object(parsed):
            raise UsageError("--arguments must be a JSON object", fix="""write it like '{"key": "value"}'""")
        arguments.update(parsed)
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or key in {"", ":"}:
            raise UsageError(f"{pair!r} is not KEY=VALUE", fix="write arguments like message=hi or count:=3")
        if key.endswith(":"):
            arguments[key[:-1]] = _json(value, key[:-1])
        else:
            arguments[key] = Word(value)
    return arguments


def typed(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> dict[str, Any]:
    """Words become what the schema wants where they read as that. Where they do not, they stay text, and validation
    says what is wrong with them."""
    properties = as_object(schema.get("properties"))
    return {key: _typed(value, as_object(properties.get(key))) for key, value in arguments.items()}


def _typed(value: Any, schema: Mapping[str, Any]) -> Any:
    if not isinstance(value, Word):
        return value
    wanted = schema.get("type")
    kinds = {wanted} if isinstance(wanted, str) else set(wanted or ())
    if not kinds or "string" in kinds:
        return str(value)
    try:
        return msgspec.json.decode(str(value))
    except msgspec.DecodeError:
        return str(value)


def _json(text: str, name: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        whole = name == "--arguments"
        fix = 'write it like \'{"key": "value"}\'' if whole else f"text is written {name}=text, or {name}:='\"text\"'"
        raise UsageError(f"{name} is not JSON: {error}", fix=fix) from None


def as_shape(outcome: Outcome) -> CallShape | FailureShape:
    """The outcome in its documented JSON shape."""
    if isinstance(outcome, ToolFailure):
        return failure_shape(outcome)
    return {
        "ok": True,
        "text": outcome.text,
        "structured": outcome.structured,
        "server": outcome.server,
        "tool": outcome.tool,
        **taken(outcome),
    }
