"""How every command begins: its config, its runtime, and the principal it acts for."""

import argparse
import getpass
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from bascule.cli.terminal import person_at_the_terminal
from bascule.config.load import load_file
from bascule.config.locate import locate
from bascule.runtime.runtime import Runtime
from bascule.runtime.session import AgentSession


@asynccontextmanager
async def agent_session(options: argparse.Namespace) -> AsyncGenerator[AgentSession]:
    """The agent session a command works in."""
    config = load_file(locate(options.config, os.environ), os.environ)
    for note in config.notes:
        print(f"note: {note}", file=sys.stderr)
    # A command shows how every server stands, also when a required one fails, so it does not prove them beforehand.
    on_elicit = person_at_the_terminal(sys.stdin, sys.stderr)
    async with Runtime(config, prove_required=False, on_elicit=on_elicit) as runtime:
        user, session = acting_for(options)
        yield runtime.session(user, session)


def acting_for(options: argparse.Namespace) -> tuple[str, str]:
    """User and session id. What was not given is filled in, and said."""
    user, session = options.user or getpass.getuser(), options.session or "cli"
    if not options.user or not options.session:
        print(f"acting as user {user}, session {session}", file=sys.stderr)
    return user, session
