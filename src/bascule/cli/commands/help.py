"""`bascule help`: help of a command as text, or the outline of the command line as plain data."""

import argparse
from typing import TYPE_CHECKING

from bascule.cli.parser.command_table import build_parser
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_json

if TYPE_CHECKING:
    from bascule.cli.json_output.setup import CommandShape, SettingShape


def outline(parser: Parser, summary: str = "") -> "CommandShape":
    """A command, with those below it."""
    shown = [action for action in parser.settings if action.help != argparse.SUPPRESS]
    return {
        "name": parser.prog,
        "summary": summary or _plain(parser.description or ""),
        "usage": " ".join(parser.format_usage().split()).removeprefix("usage: "),
        "examples": [{"command": command, "for": "".join(told)} for command, *told in parser.examples],
        "exits": {str(code): told for code, told in parser.exits.items()},
        "arguments": [_setting(action) for action in shown if not action.option_strings],
        "options": [_setting(action) for action in shown if action.option_strings],
        "groups": {title: [*names] for title, names in parser.groups.items()},
        "needs_command": parser.needs_word,
        "commands": [outline(word, parser.summaries[name]) for name, word in parser.words.items()],
    }


def _setting(action: argparse.Action) -> "SettingShape":
    return {
        "names": list(action.option_strings) or [_named(action)],
        "value": None if action.nargs == 0 else _named(action),
        "choices": [*map(str, action.choices)] if action.choices is not None else None,
        # Of what may be left out, argparse says that it is required nevertheless.
        "required": action.required and action.nargs not in {"*", "?"},
        "many": action.nargs in {"*", "+"} or isinstance(action.default, list),
        "help": _plain(action.help or ""),
    }


def _named(action: argparse.Action) -> str:
    if action.choices is not None and action.metavar is None:
        return "|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _plain(text: str) -> str:
    return " ".join(text.split())


_EXAMPLES = """\
  bascule help  every command, as `bascule --help` shows them
  bascule help call  one command, with examples
  bascule help audit verify  a sub-command
  bascule help --json  every command with its options, for programs"""


def add_options(command: Parser) -> None:
    add_json(command.document(_EXAMPLES))
    command.add_argument(
        "words", metavar="COMMAND", nargs="*", help="the command, and its sub-command; default: all of them"
    )


def run(options: argparse.Namespace) -> int:
    """Prints the help of a command. Raises `WrongWords` if there is none of this name."""
    # The JSON of the whole command line has the options of all commands.
    found, summary = build_parser(None if options.json and not options.words else options.words), ""
    for word in options.words:
        if word not in found.words:
            raise (
                found.no_such(word)
                if found.words
                else found.wrong(f"{found.prog} has no sub-commands, so none is {word!r}")
            )
        found, summary = found.words[word], found.summaries[word]
    if options.json:
        import json  # noqa: PLC0415 -- only where it is asked for

        print(json.dumps(outline(found, summary)))
    else:
        found.print_help()
    return 0
