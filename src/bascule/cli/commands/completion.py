"""`bascule completion`: prints the completion script of a shell."""

import argparse
import sys
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.completion.scripts import SCRIPTS
from bascule.cli.output.errors import json_line
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_json

if TYPE_CHECKING:
    from bascule.cli.json_output.setup import CompletionShape

INSTALL = {
    "bash": """put this into ~/.bashrc: eval "$(bascule completion bash)\"""",
    "zsh": """put this into ~/.zshrc, after compinit: eval "$(bascule completion zsh)\"""",
    "fish": "bascule completion fish > ~/.config/fish/completions/bascule.fish",
}
"""How a person makes it last."""

_EXAMPLES = """\
  eval "$(bascule completion bash)"  in ~/.bashrc
  eval "$(bascule completion zsh)"  in ~/.zshrc, after compinit
  bascule completion fish > ~/.config/fish/completions/bascule.fish  once"""


def add_options(command: Parser) -> None:
    add_json(command.document(_EXAMPLES))
    command.add_argument("shell", metavar="SHELL", choices=(*SCRIPTS,), help="bash, zsh or fish")


async def run(options: argparse.Namespace) -> int:
    if options.json:
        shell = options.shell
        shape: CompletionShape = {"shell": shell, "script": SCRIPTS[shell], "install": INSTALL[shell]}
        print(json_line(shape))
        return exit_codes.OK
    print(SCRIPTS[options.shell], end="")
    if sys.stdout.isatty():
        # Somebody reads it who wanted it to be run.
        print(INSTALL[options.shell], file=sys.stderr)
    return exit_codes.OK
