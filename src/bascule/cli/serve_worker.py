"""One worker of `bascule serve`: a whole runtime behind a socket that it has from its supervisor, and shares."""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import msgspec

from bascule.cli import exit_codes
from bascule.cli.dashboards import PORT, alone, feed_for
from bascule.cli.explain import explain, legible
from bascule.cli.opening import tell_raised
from bascule.cli.serve_command import LOOP_FACTORY, Stopping, door_of, words
from bascule.cli.speaking import TEXT, wanted
from bascule.cli.up_command import until_stopped
from bascule.config.load import load_file
from bascule.config.locate import locate
from bascule.config.secrets_in import secrets_in
from bascule.config.state import state_folder
from bascule.core.errors import BasculeError
from bascule.core.masking import Mask
from bascule.gateway.serving import check_door
from bascule.gateway.several import Orders, Several, Sockets
from bascule.gateway.worker_line import WorkerLine
from bascule.records.feed.feed import Feed
from bascule.runtime.runtime import Runtime

SHOWS = "This is worker {} of several: it shows what this one serves. Each of the others has a dashboard of its own."


class Told(msgspec.Struct, frozen=True):
    """What a worker is told by its supervisor: descriptors it has inherited, and the words of the command."""

    clients: int
    line: int
    number: int
    """Of this worker, among those that live."""
    words: dict[str, str | int | bool | list[str] | None]
    within: int | None = None

    @property
    def options(self) -> argparse.Namespace:
        return argparse.Namespace(**self.words)


async def work(told: Told, options: argparse.Namespace) -> None:
    config = load_file(locate(options.config, os.environ), os.environ)
    config = replace(config, telemetry=config.telemetry.of_worker(told.number))
    options.masking.mask = Mask(secrets_in(config)).text
    door = door_of(options, config)
    check_door(door)
    clients = _inherited(told.clients)
    within = _inherited(told.within) if told.within is not None else None
    line, stopping = WorkerLine(_inherited(told.line)), Stopping()
    feed = feed_for(config.dashboard, _tell if told.number == 0 else _say_nothing)
    sinks = (tell_raised,) if feed is None else (tell_raised, feed.note)
    made = Runtime(config, sinks=sinks, for_clients=True)
    if config.path is not None:
        made.watch()

    def ready(orders: Orders) -> None:
        stopping.follow(orders.stop)
        line.listen(retire=orders.retire, stop=orders.stop)
        line.ready()

    with until_stopped(stopping):
        try:
            async with made as runtime:
                options.masking.mask = runtime.masked
                several = Several(runtime, door, state_folder(os.environ))
                async with _dashboard(options, runtime, feed, told.number):
                    await several.serve(Sockets(clients, within, options.internal_url or ""), ready)
        finally:
            await line.close()


@asynccontextmanager
async def _dashboard(
    options: argparse.Namespace, runtime: Runtime, feed: Feed | None, number: int
) -> AsyncGenerator[None]:
    """Each worker has its own, at a port of its own: at the address that all of them share, one would see now what one
    of them has done, and now what another has."""
    if feed is None:
        yield
        return
    async with alone(runtime, feed, PORT + number, SHOWS.format(number + 1)) as address:
        _tell(f"worker {number + 1} has its {address.told(openly=wanted(options) == TEXT)}")
        yield


def _tell(words: str) -> None:
    print(legible(words), file=sys.stderr, flush=True)


def _say_nothing(words: str) -> None:
    """What one worker has said need not be said by all."""


def _inherited(descriptor: int) -> socket.socket:
    # Ours alone from here on: a server that we start must not hold the door open after us.
    os.set_inheritable(descriptor, False)  # noqa: FBT003
    return socket.socket(fileno=descriptor)


def main(argv: Sequence[str]) -> int:
    told = msgspec.json.decode(argv[0], type=Told)
    options = told.options
    with words(options):
        return _run(told, options)


def _run(told: Told, options: argparse.Namespace) -> int:
    try:
        with asyncio.Runner(loop_factory=LOOP_FACTORY) as runner:
            runner.run(work(told, options))
    except BasculeError as error:
        print(explain(error), file=sys.stderr)
        return exit_codes.of_error(error)
    except KeyboardInterrupt:
        return exit_codes.ABORTED
    return exit_codes.OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
