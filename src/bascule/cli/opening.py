"""How every command begins: its config, its runtime, and the principal it acts for."""

import argparse
import getpass
import os
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager

from bascule.cli.terminal import person_at_the_terminal
from bascule.config.load import load_file
from bascule.config.locate import locate
from bascule.core.events import Sink
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession


@asynccontextmanager
async def agent_session(
    options: argparse.Namespace, *, sinks: Iterable[Sink] = (), watch: bool = False
) -> AsyncGenerator[AgentSession]:
    """The agent session a command works in. With `watch`, it follows edits of the config."""
    config = load_file(locate(options.config, os.environ), os.environ)
    for note in config.notes:
        print(f"note: {note}", file=sys.stderr)
    # A command shows how every server stands, also when a required one fails, so it does not prove them beforehand.
    # One that only watches makes no requests in which a server could ask something.
    on_elicit = None if watch else person_at_the_terminal(sys.stdin, sys.stderr)
    made = Runtime(config, sinks=sinks, prove_required=False, on_elicit=on_elicit)
    if watch:
        made.watch()
    async with made as runtime:
        user, session = acting_for(options)
        yield runtime.session(user, session)


def acting_for(options: argparse.Namespace) -> tuple[str, str]:
    """User and session id. What was not given is filled in, and said."""
    user, session = options.user or getpass.getuser(), options.session or "cli"
    if not options.user or not options.session:
        print(f"acting as user {user}, session {session}", file=sys.stderr)
    return user, session
