"""`bascule run`: serves a kit server of the config, over HTTP or at a Unix socket."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.json_output.running import RunShape
from bascule.cli.output.errors import json_line, legible
from bascule.cli.output.progress import settled
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_config
from bascule.cli.session import read_config
from bascule.core.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from bascule.config.model.kit_server import KitServer
    from bascule.config.model.runtime_config import RuntimeConfig
    from bascule.kit.server import GovernedServer

_EXAMPLES = """\
  bascule run records  serves the entry `records` with `type: server`, until Ctrl-C
  bascule run records --socket /run/records.sock  at a socket file: for a twin without a network
  bascule token records  prints a token to try it with"""


def add_options(command: Parser) -> None:
    add_config(command.document(_EXAMPLES))
    command.add_argument("name", metavar="OWN_SERVER", help="the server's name: an entry with `type: server`")
    command.add_argument("--socket", metavar="PATH", help="at this socket file, and at no port")
    command.add_argument("--host", metavar="ADDRESS", help="listen at this address; default: 127.0.0.1")
    command.add_argument("--url", metavar="URL", help="where clients reach it, if not there: tokens name it by this")


async def run(options: argparse.Namespace) -> int:
    from bascule.config.find_server import kit_server_named  # noqa: PLC0415 -- slow, and not for the options
    from bascule.config.model.kit_server import HOST, PATH  # noqa: PLC0415

    config = read_config(options)
    described = kit_server_named(config, options.name)
    url = reached_at(options, described)
    server = loaded(config, described, None if options.socket else url)
    settled()
    if options.json:
        shape: RunShape = {"name": described.name, "url": url}
        print(json_line(shape), flush=True)
    else:
        print(legible(f"{described.name} is served at {url}; Ctrl-C ends it"), file=sys.stderr, flush=True)
    if options.socket:
        await server.run_http_async(socket=options.socket, path=PATH)
    else:
        await server.run_http_async(host=options.host or HOST, port=described.port, path=PATH)
    return exit_codes.OK


def reached_at(options: argparse.Namespace, described: "KitServer") -> str:
    """The address at which clients reach it. Raises `UsageError`."""
    from bascule.config.urls import UNIX, unix_url_flaw, url_flaw  # noqa: PLC0415 -- as above

    if not options.socket:
        flaw = url_flaw(options.url) if options.url else None
        if flaw:
            raise UsageError(f"--url {flaw}")
        return options.url or described.url
    if options.host or options.url:
        raise UsageError(
            "a server is served at a socket or at an address, and not at both",
            fix="leave out --host and --url; for both, start it twice",
        )
    url = f"{UNIX}://{Path(options.socket).absolute()}"
    flaw = unix_url_flaw(url)
    if flaw:
        raise UsageError(f"--socket {flaw}", evidence=options.socket)
    return url


def loaded(config: "RuntimeConfig", described: "KitServer", url: str | None = None) -> "GovernedServer":
    """The server, as the config wants it, for clients that reach it at this address."""
    try:
        from bascule.kit.server import load_server  # noqa: PLC0415 -- FastMCP takes a second, and is an extra
    except ModuleNotFoundError as error:
        if error.name != "fastmcp":
            raise
        raise ConfigError(
            "servers need a package that is not installed", fix="pip install 'bascule[server]'"
        ) from error
    folder = config.path.parent if config.path is not None else Path()
    server = load_server((folder / described.target).resolve())
    server.believe(described.auth, url)
    server.home.follow(config)
    if described.instructions is not None:
        server.instructions = described.instructions
    return server
