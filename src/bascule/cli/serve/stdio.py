"""`bascule serve --stdio`: every server of the config over stdin and stdout, for the one client that started the
process. Separate, so that it starts without the modules for HTTP."""

import argparse
import asyncio
import sys

from bascule.cli import exit_codes
from bascule.cli.output.errors import legible
from bascule.cli.serve.up import until_stopped
from bascule.cli.session import acting_for, read_config, tell_raised
from bascule.core.errors import UsageError
from bascule.gateway.mcp.handler import Desk
from bascule.gateway.stdio.serve import serve_stdio
from bascule.gateway.stdio.streams import standard_ends
from bascule.runtime.runtime import Runtime

SESSION = "stdio"
"""The agent session, where none is named. The same one each time: a client that starts us anew may go on with a
conversation that has seen private data."""


async def run(options: argparse.Namespace) -> int:
    for flag in ("dev", "host", "port", "url"):
        if getattr(options, flag):
            raise UsageError(f"--{flag} is for clients that come by HTTP, and --stdio serves the one that starts it")
    with standard_ends() as ends:
        config = read_config(options)
        user, session = acting_for(options, SESSION)
        stop = asyncio.Event()
        with until_stopped(stop.set):
            made = Runtime(config, sinks=(tell_raised,), for_clients=True)
            if config.path is not None:
                made.watch()
            async with made as runtime:
                _announce(user, session, len(config.servers))
                desk = Desk(runtime.session(user, session), runtime.seal)
                await serve_stdio(desk, ends, config.message_max, stop)
    return exit_codes.OK


def _announce(user: str, session: str, servers: int) -> None:
    told = f"{servers} servers are served on stdin and stdout to user {user}, session {session}, without a token"
    print(legible(told), file=sys.stderr, flush=True)
