"""Worker process of `bascule serve`: one runtime behind listening sockets that it inherits from the supervisor."""

import argparse
import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from bascule.cli import exit_codes, gc_tuning
from bascule.cli.output.errors import explain, legible
from bascule.cli.serve.command import loop_factory, words
from bascule.cli.serve.dashboard import feed_for, mount
from bascule.cli.serve.http import Stopping, door_of, tls_of
from bascule.cli.serve.up import until_stopped
from bascule.cli.session import tell_raised
from bascule.config.loading.load import load_file
from bascule.config.locate import locate
from bascule.config.secrets_in import secrets_in
from bascule.config.state_dir import state_folder
from bascule.core.errors import BasculeError
from bascule.core.text.redaction import Mask
from bascule.gateway.app import Gateway
from bascule.gateway.cluster.peers import Neighbours
from bascule.gateway.node.serve import Orders, Several, Sockets
from bascule.gateway.serve import Door, check_door
from bascule.gateway.workers.supervisor import WorkerLine
from bascule.records.feed.feed import Feed
from bascule.runtime.runtime import Runtime


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
    # Read by each anew, so that those that follow others know certificates that were renewed.
    tls = tls_of(options)
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
                gc_tuning.rest()
                several = Several(runtime, door, state_folder(os.environ))
                several.furnish = lambda app, neighbours: (
                    None if feed is None else _furnish(app, (runtime, feed, door), neighbours, told)
                )
                await several.serve(Sockets(clients, within, options.internal_url or "", tls), ready)
        finally:
            await line.close()


def _furnish(app: Gateway, shown: tuple[Runtime, Feed, Door], neighbours: Neighbours, told: Told) -> None:
    """At the address that all workers share, each answers for all of them. Several machines may have a first one."""
    runtime, feed, door = shown
    where = "" if told.within is None else f" on {socket.gethostname()}"
    mount(app, (runtime, feed), door, (neighbours, f"worker {told.number + 1}{where}"))


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
        with asyncio.Runner(loop_factory=loop_factory(options)) as runner:
            runner.run(work(told, options))
    except BasculeError as error:
        print(explain(error), file=sys.stderr)
        return exit_codes.of_error(error)
    except KeyboardInterrupt:
        return exit_codes.ABORTED
    return exit_codes.OK


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
