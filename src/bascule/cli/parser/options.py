"""Options that several commands share, and the types of their values. Imports only the standard library."""

import argparse
from math import inf

from bascule.cli.parser.grammar import Parser

REQUESTED = {
    1: "it failed, or took too long",
    2: "there is no such thing, or the arguments do not fit",
    3: "its server cannot be reached, or waits for a login",
    4: "the rules refused it",
}
"""How a request of one's own can end."""

REQUIRED = {3: "a server with `required: true` cannot be reached"}


def add_common(command: Parser) -> Parser:
    """For what is done on somebody's behalf."""
    add_config(command)
    command.add_argument("--user", metavar="ID", help="on whose behalf; default: the user of this machine")
    command.add_argument("--session", metavar="ID", help="in which agent session; default: cli")
    return command


def add_filters(command: Parser) -> Parser:
    """For what is looked at, of everybody or of one."""
    add_config(command)
    command.add_argument("--user", metavar="ID", help="only what is of this user; default: everyone's")
    command.add_argument("--session", metavar="ID", help="only what is of this agent session; default: of all")
    return command


def add_config(command: Parser) -> Parser:
    command.add_argument("--config", metavar="FILE", help="the config file; default: the one found in this folder")
    return add_json(command)


def add_json(command: Parser) -> Parser:
    command.add_argument("--json", action="store_true", help="print JSON, in a shape that is kept stable")
    return command


def add_deed_json(deed: Parser) -> Parser:
    """For a deed: the option may stand before it too, so what is missing here must not undo it."""
    deed.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON, in a shape that is kept stable"
    )
    return deed


def add_timeout(command: Parser) -> None:
    command.add_argument("--timeout", type=seconds, metavar="SECONDS", help="how long to wait for the result")


def count(text: str) -> int:
    """How many: none, or more."""
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def seconds(text: str) -> float:
    """A time limit: a number of seconds that ends."""
    value = float(text)
    if not 0 < value < inf:
        raise ValueError(text)
    return value
