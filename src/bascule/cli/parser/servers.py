"""The words of the commands for servers of one's own."""

from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common, add_config, add_json, seconds

_NEW = """\
  bascule new server records  a working server in the folder `records`, with its tests and its config
  bascule new server records --folder .  the same in this folder; what is there is never written over"""

_RUN = """\
  bascule run records  serves the entry `records` with `type: server`, until Ctrl-C
  bascule run records --socket /run/records.sock  at a socket file: for a twin without a network
  bascule token records  prints a token to try it with"""

_MINT = """\
  bascule token records --user alice --session s-1  for the entry `records` with `type: server`
  bascule token --audience http://127.0.0.1:8000/mcp --life 60  for a server that is configured elsewhere
  curl -H "Authorization: Bearer $(bascule token records)" http://127.0.0.1:8000/mcp
  bascule token --key  for a server elsewhere, as BASCULE_TOKEN_KEY; it is no secret"""


def add_commands(parser: Parser) -> None:
    _new(parser)
    _run(parser)
    _token(parser)


def _new(parser: Parser) -> None:
    command = add_json(parser.word("new", "write a working server of your own, to begin with", _NEW))
    command.add_argument("what", metavar="server", choices=("server",), help="what to write; there is only this yet")
    command.add_argument("name", metavar="NAME", help="the name of the server, which stands before those of its tools")
    command.add_argument("--folder", metavar="DIR", help="where to write it; default: a folder of its name")


def _run(parser: Parser) -> None:
    summary = "serve a server of your own, as the config describes it"
    command = add_config(parser.word("run", summary, _RUN))
    command.add_argument("name", metavar="OWN_SERVER", help="the server's name: an entry with `type: server`")
    command.add_argument("--socket", metavar="PATH", help="at this socket file, and at no port")
    command.add_argument("--host", metavar="ADDRESS", help="listen at this address; default: 127.0.0.1")
    command.add_argument("--url", metavar="URL", help="where clients reach it, if not there: tokens name it by this")


def _token(parser: Parser) -> None:
    summary = "mint a short-lived token to try out a server of your own"
    command = add_common(parser.word("token", summary, _MINT))
    told = "the server's name: an entry with `type: server`"
    command.add_argument("name", metavar="OWN_SERVER", nargs="?", help=told)
    command.add_argument("--audience", metavar="URL", help="whom it is for, where there is no such entry")
    command.add_argument("--key", action="store_true", help="print what our tokens are verified with, and no token")
    command.add_argument("--life", type=seconds, metavar="SECONDS", help="default, and most: 300")
