"""The words of the commands that are about the command itself."""

from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_json

_HELP = """\
  bascule help  every command, as `bascule --help` shows them
  bascule help call  one command, with examples
  bascule help audit verify  a sub-command
  bascule help --json  every command with its options, for programs"""

_COMPLETION = """\
  eval "$(bascule completion bash)"  in ~/.bashrc
  eval "$(bascule completion zsh)"  in ~/.zshrc, after compinit
  bascule completion fish > ~/.config/fish/completions/bascule.fish  once"""


def add_commands(parser: Parser) -> None:
    completion = add_json(parser.word("completion", "print what makes a shell complete our words", _COMPLETION))
    completion.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")
    command = add_json(parser.word("help", "show what a command does and takes, with examples", _HELP))
    command.add_argument(
        "words", metavar="COMMAND", nargs="*", help="the command, and its sub-command; default: all of them"
    )
