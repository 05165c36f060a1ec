"""`bascule run`: serves a server of one's own that the config describes."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from bascule.cli import exit_codes
from bascule.cli.explain import json_line, legible
from bascule.cli.opening import read_config
from bascule.config.find_server import kit_server_named
from bascule.config.kit_server import PATH, KitServer
from bascule.config.model import RuntimeConfig
from bascule.core.errors import ConfigError

if TYPE_CHECKING:
    from bascule.kit.server import GovernedServer

HOST = "127.0.0.1"


async def run(options: argparse.Namespace) -> int:
    config = read_config(options)
    described = kit_server_named(config, options.name)
    server = loaded(config, described)
    if options.json:
        print(json_line({"name": described.name, "url": described.url}), flush=True)
    else:
        print(legible(f"{described.name} is served at {described.url}; Ctrl-C ends it"), file=sys.stderr, flush=True)
    await server.run_http_async(host=HOST, port=described.port, path=PATH)
    return exit_codes.OK


def loaded(config: RuntimeConfig, described: KitServer) -> "GovernedServer":
    """The server, as the config wants it."""
    try:
        from bascule.kit.loading import load_server  # noqa: PLC0415 -- FastMCP takes a second, and is an extra
    except ModuleNotFoundError as error:
        if error.name != "fastmcp":
            raise
        raise ConfigError(
            "servers need a package that is not installed", fix="pip install 'bascule[server]'"
        ) from error
    folder = config.path.parent if config.path is not None else Path()
    server = load_server((folder / described.target).resolve())
    server.believe(described.auth)
    server.home.follow(config)
    if described.instructions is not None:
        server.instructions = described.instructions
    return server
