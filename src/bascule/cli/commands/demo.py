"""`bascule demo`: plays an agent session that reads private data and is kept from leaking it."""

import argparse
import asyncio
import signal
import sys

from bascule.cli import exit_codes
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import add_json

_EXAMPLES = """\
  bascule demo  in a few seconds, without a config, a key, Docker or a network
  bascule demo --json | jq .ok  each step, and whether it went as told; exits with 1 if one did not"""


def add_options(command: Parser) -> None:
    add_json(command.document(_EXAMPLES, {1: "it did not go as told"}))


async def run(options: argparse.Namespace) -> int:
    from bascule.cli.serve.up import until_stopped  # noqa: PLC0415 -- slow, and not for the options
    from bascule.demo.story.play import perform  # noqa: PLC0415
    from bascule.demo.story.screen import Document, Screen  # noqa: PLC0415

    loop, playing = asyncio.get_running_loop(), asyncio.current_task()
    assert playing is not None

    def stop(task: asyncio.Task[object] = playing) -> None:
        task.cancel()

    # A window that is closed leaves nothing either.
    loop.add_signal_handler(signal.SIGHUP, stop)
    try:
        with until_stopped(stop):
            ending = await perform(Document() if options.json else Screen())
    except asyncio.CancelledError:
        print("aborted", file=sys.stderr)
        return exit_codes.ABORTED
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
    return exit_codes.OK if ending.ok else exit_codes.TOOL_FAILED
