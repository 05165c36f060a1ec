"""`bascule serve`: one MCP endpoint in front of every server of the config."""

import argparse
import sys
from asyncio import AbstractEventLoop
from collections.abc import Callable
from dataclasses import replace

from bascule.cli import exit_codes
from bascule.cli.explain import json_line, legible
from bascule.cli.opening import acting_for, read_config, tell_raised
from bascule.cli.up_command import until_stopped
from bascule.config.model import RuntimeConfig
from bascule.config.urls import url_flaw
from bascule.core.errors import UsageError
from bascule.core.principal import Principal
from bascule.gateway.serving import Door, check_door, gateway_of, listen, serve
from bascule.runtime.runtime import Runtime


def _loop_factory() -> Callable[[], AbstractEventLoop] | None:
    try:
        import uvloop  # noqa: PLC0415
    except ModuleNotFoundError:
        return None
    return uvloop.new_event_loop


LOOP_FACTORY = _loop_factory()


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
    config = read_config(options)
    door = door_of(options, config)
    check_door(door)
    # Before any server is started: that the address is taken is known at once.
    with listen(door) as listening:
        made = Runtime(config, sinks=(tell_raised,), for_clients=True)
        if config.path is not None:
            made.watch()
        async with made as runtime:
            app = gateway_of(runtime, door)
            stopping = Stopping()
            with until_stopped(stopping):
                _announce(options, door, len(config.servers))
                await serve(app, listening, stopping.follow)
    return exit_codes.OK


def door_of(options: argparse.Namespace, config: RuntimeConfig) -> Door:
    """What the config says, and the command has the last word."""
    settings = config.gateway
    flaw = url_flaw(options.url) if options.url else None
    if flaw:
        raise UsageError(f"--url {flaw}")
    settings = replace(settings, host=options.host or settings.host, port=options.port or settings.port)
    development = Principal(*acting_for(options)) if options.dev else None
    return Door(settings, options.url, development)


def _announce(options: argparse.Namespace, door: Door, servers: int) -> None:
    if options.json:
        print(json_line({"url": door.known_as, "dev": door.development is not None, "servers": servers}), flush=True)
        return
    told = f"{servers} servers are served at {door.known_as}; Ctrl-C ends it"
    print(legible(told), file=sys.stderr, flush=True)
    if door.development is not None:
        warning = f"--dev: whoever reaches it from this machine is {door.development}, without a token"
        print(legible(warning), file=sys.stderr, flush=True)
