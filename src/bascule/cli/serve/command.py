"""`bascule serve`: options of the gateway, and its start over HTTP or stdio. Imports only the one that is started: MCP
clients wait for the start of stdio, which needs nothing of HTTP."""

import argparse
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bascule.cli.gc_tuning import loading
from bascule.cli.output.logging import Masking, speaking, wanted
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_common

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop

_EXAMPLES = """\
  bascule serve  one MCP endpoint for every client whose token `gateway.auth` believes
  bascule serve --dev  on this machine alone, without tokens: whoever asks is you
  bascule serve --demo  the built-in servers, without a config, and a few small agents at work on them
  bascule serve --stdio  for the one client that starts it; this is what its config names as a command
  bascule serve --host 10.0.0.5 --url https://tools.example/mcp  behind a proxy that clients know by another name"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES))
    command.add_argument("--dev", action="store_true", help="no tokens: whoever asks from this machine is you")
    ways = command.add_mutually_exclusive_group()
    ways.add_argument("--stdio", action="store_true", help="on stdin and stdout, in the agent session `stdio`")
    ways.add_argument("--demo", action="store_true", help="the built-in servers, with agents at work; as with --dev")
    command.add_argument("--host", metavar="ADDRESS", help="listen at this address; default: `gateway.host`")
    command.add_argument("--port", metavar="NUMBER", type=int, help="and at this port; default: `gateway.port`")
    command.add_argument("--url", metavar="URL", help="where clients reach it, if not there: tokens name it by this")
    command.add_argument(
        "--log", choices=("text", "json"), help="how it says what happens; default: $BASCULE_LOG, else text"
    )
    internal = (
        "ADDRESS:PORT of this machine, with http:// or https://, where gateways on others with its `store` reach it"
    )
    command.add_argument("--internal-url", metavar="URL", help=internal)
    command.add_argument("--internal-cert", metavar="FILE", help="with https://: the certificate it shows them, in PEM")
    command.add_argument("--internal-key", metavar="FILE", help="and the key of that certificate")
    command.add_argument("--internal-ca", metavar="FILE", help="and the authority that has signed those of all of them")


def loop_factory(options: argparse.Namespace) -> "Callable[[], AbstractEventLoop] | None":
    """A faster event loop for many clients, if it is installed."""
    if options.stdio:
        return None
    try:
        import uvloop  # noqa: PLC0415 -- an extra
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


@contextmanager
def words(options: argparse.Namespace) -> Generator[None]:
    """Formats and masks all that a gateway for HTTP prints, from the first line to the last."""
    if options.stdio:
        yield
        return
    options.masking = Masking()
    with speaking(wanted(options), options.masking):
        yield


async def run(options: argparse.Namespace) -> int:
    with loading():
        if options.stdio:
            from bascule.cli.serve.stdio import run as serve  # noqa: PLC0415 -- slow, and not for the options
        else:
            from bascule.cli.serve.http import run as serve  # noqa: PLC0415
    return await serve(options)
