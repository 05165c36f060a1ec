"""`bascule serve --demo`: gateway on the built-in servers, with the traffic of a few small agents."""

import argparse
import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress

from bascule.core.errors import UsageError
from bascule.demo.showcase.config import showcase
from bascule.demo.showcase.traffic import Traffic
from bascule.demo.story.play import share_network
from bascule.demo.story.stage import receiving
from bascule.gateway.auth import Guests
from bascule.gateway.serve import Door
from bascule.runtime.runtime import Runtime

_NOT_WITH = ("config", "internal_url", "url")
"""What it settles itself, or is not for showing."""


@contextmanager
def arranged(options: argparse.Namespace) -> Generator[None]:
    """What `--demo` stands for beside the agents. All state is gone at the end of the block."""
    for name in _NOT_WITH:
        if getattr(options, name):
            word = f"--{name.replace('_', '-')}"
            raise UsageError(
                f"--demo brings all that it serves, and takes no {word}", fix=f"leave {word} or --demo out"
            )
    with showcase() as config, _hanging_up_is_stopping():
        options.config, options.dev, options.guests = str(config), True, Guests()
        yield


@asynccontextmanager
async def busy(runtime: Runtime, door: Door) -> AsyncGenerator[Callable[[], None]]:
    """With agents at work, until what this gives is called, or the block ends."""
    assert door.development is not None
    assert door.guests is not None
    share_network(runtime.session(door.development.user_id, door.development.session_id))
    async with receiving() as receiver:
        working = asyncio.create_task(Traffic(door.known_as, door.guests.invited, receiver.address).run())

        def leave() -> None:
            working.cancel()

        try:
            yield leave
        finally:
            working.cancel()
            with suppress(asyncio.CancelledError):
                await working


@contextmanager
def _hanging_up_is_stopping() -> Generator[None]:
    """A window that is closed leaves nothing either."""
    before = signal.signal(signal.SIGHUP, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)


def _stop(_number: int, _frame: object) -> None:
    os.kill(os.getpid(), signal.SIGTERM)
