"""`bascule demo`: a played session in which private data comes on board, and cannot leave."""

import argparse
import asyncio
import signal
import sys

from bascule.cli import exit_codes
from bascule.cli.serve.up import until_stopped
from bascule.demo.story.play import perform
from bascule.demo.story.screen import Document, Screen


async def run(options: argparse.Namespace) -> int:
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
