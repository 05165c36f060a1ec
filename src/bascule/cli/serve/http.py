"""`bascule serve` over HTTP: one MCP endpoint in front of every server of the config, served by one process or by
workers."""

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace

import msgspec

from bascule.cli import exit_codes, gc_tuning
from bascule.cli.json_output.running import ServeShape
from bascule.cli.output.errors import explain, json_line, legible
from bascule.cli.output.logging import TEXT, wanted
from bascule.cli.output.progress import settled
from bascule.cli.serve.dashboard import Address, address_at, feed_for, mount
from bascule.cli.serve.up import until_stopped
from bascule.cli.session import acting_for, read_config, tell_raised
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.config.secrets_in import secrets_in
from bascule.config.state_dir import state_folder
from bascule.config.urls import url_flaw
from bascule.core.errors import BasculeError, ConfigError, UsageError
from bascule.core.events import Sink
from bascule.core.principal import Principal
from bascule.core.text.redaction import Mask
from bascule.gateway.app import Gateway
from bascule.gateway.cluster.address import listen_within
from bascule.gateway.cluster.peers import Neighbours
from bascule.gateway.cluster.tls import InnerTls, TlsFiles, tls_for
from bascule.gateway.node.serve import Orders, Several, Sockets
from bascule.gateway.serve import Door, check_door, gateway_of, listen, serve
from bascule.gateway.workers.supervisor import NotStarted, Supervisor
from bascule.records.feed.feed import Feed
from bascule.runtime.runtime import Runtime


class Stopping:
    """Told to stop, perhaps before there is anything that could."""

    def __init__(self) -> None:
        self._stop: Callable[[], None] | None = None
        self._told = False

    def __call__(self) -> None:
        self._told = True
        if self._stop is not None:
            self._stop()

    def follow(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        if self._told:
            stop()


async def run(options: argparse.Namespace) -> int:
    if not options.demo:
        return await _served(options)
    from bascule.cli.serve.demo import arranged  # noqa: PLC0415 -- few gateways are for show

    with arranged(options):
        return await _served(options)


async def _served(options: argparse.Namespace) -> int:
    config = read_config(options)
    options.masking.mask = Mask(secrets_in(config)).text
    door = door_of(options, config)
    check_door(door)
    _check_store(options, config)
    tls = tls_of(options)
    # Before any server is started: that the address is taken is known at once.
    with listen(door) as listening, _listening_within(options) as within:
        if config.gateway.workers > 1:
            return await _by_workers(options, config, door, (listening, within))
        feed = feed_for(config.dashboard, _tell)
        sinks = _told_of(options) if feed is None else (*_told_of(options), feed.note)
        made = Runtime(config, sinks=sinks, for_clients=True)
        if config.path is not None:
            made.watch()
        async with made as runtime:
            options.masking.mask = runtime.masked
            gc_tuning.rest()
            stopping = Stopping()
            with until_stopped(stopping):
                if within is not None:
                    sockets = Sockets(listening, within, options.internal_url, tls)
                    await _beside_others(options, (runtime, feed, door), sockets, stopping)
                else:
                    app = gateway_of(runtime, door)
                    address = None if feed is None else mount(app, (runtime, feed), door)
                    _announce(options, door, config, address)
                    async with _company(options, runtime, door) as leave:
                        await serve(app, listening, lambda stop: stopping.follow(_one_then_other(leave, stop)))
    return exit_codes.OK


def _told_of(options: argparse.Namespace) -> tuple[Sink, ...]:
    """What happens at a gateway for show is shown elsewhere, so that its last line stays where it can be found."""
    return () if options.demo else (tell_raised,)


@asynccontextmanager
async def _company(options: argparse.Namespace, runtime: Runtime, door: Door) -> AsyncGenerator[Callable[[], None]]:
    """Whoever is at work beside it, and how they are told to leave: before it stops, since it waits for their calls."""
    if not options.demo:
        yield lambda: None
        return
    from bascule.cli.serve.demo import busy  # noqa: PLC0415 -- as above

    async with busy(runtime, door) as leave:
        yield leave


def _one_then_other(one: Callable[[], None], other: Callable[[], None]) -> Callable[[], None]:
    def both() -> None:
        one()
        other()

    return both


async def _beside_others(
    options: argparse.Namespace, served: tuple[Runtime, Feed | None, Door], sockets: Sockets, stopping: Stopping
) -> None:
    """One process, which shares its store with gateways on other machines."""
    runtime, feed, door = served
    address: Address | None = None

    def furnish(app: Gateway, neighbours: Neighbours) -> None:
        nonlocal address
        beside = (neighbours, socket.gethostname())
        address = None if feed is None else mount(app, (runtime, feed), door, beside)

    def ready(orders: Orders) -> None:
        _announce(options, door, runtime.config, address)
        stopping.follow(orders.stop)

    several = Several(runtime, door, state_folder(os.environ))
    several.furnish = furnish
    await several.serve(sockets, ready)


async def _by_workers(
    options: argparse.Namespace,
    config: RuntimeConfig,
    door: Door,
    sockets: tuple[socket.socket, socket.socket | None],
) -> int:
    """This process only keeps those that serve. SIGUSR2 has each of them followed by a new one."""
    loop = asyncio.get_running_loop()
    stopped, restarting = asyncio.Event(), set[asyncio.Task[None]]()
    address = address_at(config.dashboard, door)
    supervisor = Supervisor(worker_command(options, door, sockets), [each for each in sockets if each], _tell)

    def start_anew() -> None:
        task = asyncio.ensure_future(_start_anew(options, supervisor))
        restarting.add(task)
        task.add_done_callback(restarting.discard)

    with until_stopped(stopped.set):
        try:
            starting = asyncio.ensure_future(supervisor.start(config.gateway.workers))
            await _first_of(starting, stopped)
            if starting.done():
                starting.result()
                loop.add_signal_handler(signal.SIGUSR2, start_anew)
                _announce(options, door, config, address)
                await stopped.wait()
            else:
                starting.cancel()
            await supervisor.stop()
        except NotStarted as error:
            return error.exit_code if error.exit_code > 0 else exit_codes.ABORTED
        finally:
            loop.remove_signal_handler(signal.SIGUSR2)
            for task in restarting:
                task.cancel()
            await supervisor.kill()
    return exit_codes.OK


async def _first_of(starting: asyncio.Future[None], stopped: asyncio.Event) -> None:
    stop = asyncio.ensure_future(stopped.wait())
    try:
        await asyncio.wait((starting, stop), return_when=asyncio.FIRST_COMPLETED)
    finally:
        stop.cancel()


async def _start_anew(options: argparse.Namespace, supervisor: Supervisor) -> None:
    """How many there are is read anew too. Where they listen is not: that is what they share."""
    try:
        workers = read_config(options).gateway.workers
    except BasculeError as error:
        _tell(f"the old workers stay, since the config cannot be used: {explain(error)}")
        return
    await supervisor.restart(workers)


def worker_command(
    options: argparse.Namespace, door: Door, sockets: tuple[socket.socket, socket.socket | None]
) -> Callable[[int, int], list[str]]:
    """The program of a worker. It is told what we were told, and who everybody is, which we may have found out."""
    words = {name: value for name, value in vars(options).items() if name != "masking"}
    if door.development is not None:
        words |= {"user": door.development.user_id, "session": door.development.session_id}
    clients, within = sockets

    def command(line: int, number: int) -> list[str]:
        told = {
            "clients": clients.fileno(),
            "line": line,
            "number": number,
            "within": None if within is None else within.fileno(),
            "words": words,
        }
        # Not from the folder we are in: what lies there is not a part of this program.
        return [sys.executable, "-P", "-m", "bascule.cli.serve.worker", msgspec.json.encode(told).decode()]

    return command


def _check_store(options: argparse.Namespace, config: RuntimeConfig) -> None:
    shared = (config.store or "").startswith(("postgresql://", "postgres://"))
    if options.internal_url and not shared:
        raise ConfigError(
            "gateways on several machines need a store that all of them reach",
            where="store",
            fix="name a PostgreSQL database as `store`, or leave --internal-url out",
        )


def tls_of(options: argparse.Namespace) -> InnerTls | None:
    """What is spoken with gateways on other machines, if they are to be spoken to by TLS."""
    files = TlsFiles(options.internal_cert, options.internal_key, options.internal_ca)
    return tls_for(options.internal_url or "", files)


@contextmanager
def _listening_within(options: argparse.Namespace) -> Generator[socket.socket | None]:
    if not options.internal_url:
        yield None
        return
    with listen_within(options.internal_url) as within:
        yield within


def door_of(options: argparse.Namespace, config: RuntimeConfig) -> Door:
    """What the config says, and the command has the last word."""
    settings = config.gateway
    flaw = url_flaw(options.url) if options.url else None
    if flaw:
        raise UsageError(f"--url {flaw}")
    settings = replace(settings, host=options.host or settings.host, port=options.port or settings.port)
    development = Principal(*acting_for(options)) if options.dev else None
    return Door(settings, options.url, development, getattr(options, "guests", None))


def _announce(options: argparse.Namespace, door: Door, config: RuntimeConfig, address: Address | None = None) -> None:
    settled()
    servers, workers = len(config.servers), config.gateway.workers
    if options.json:
        shape: ServeShape = {
            "url": door.known_as,
            "dev": door.development is not None,
            "servers": servers,
            "workers": workers,
            "dashboard": None if address is None else address.opening,
        }
        print(json_line(shape), flush=True)
        return
    by = f" by {workers} workers" if workers > 1 else ""
    _tell(f"{servers} servers are served at {door.known_as}{by}; Ctrl-C ends it")
    if door.development is not None:
        _tell(f"--dev: whoever reaches it from this machine is {door.development}, without a token")
    if address is not None:
        _tell(address.told(openly=wanted(options) == TEXT))


def _tell(words: str) -> None:
    print(legible(words), file=sys.stderr, flush=True)
