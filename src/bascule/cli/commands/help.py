"""`bascule help`: what a command does and takes. Imports nothing beyond the standard library."""

import argparse

from bascule.cli.commands.help__outline import outline
from bascule.cli.parser.grammar import Parser


def show(parser: Parser, options: argparse.Namespace) -> int:
    """Print the help of a command. Raises `WrongWords` where there is none of this name."""
    found, summary = parser, ""
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
