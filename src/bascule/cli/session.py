"""Config, runtime, store and principal of a command. Imports each late: for its options alone, a command needs none."""

import argparse
import getpass
import os
import sys
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from bascule.cli.gc_tuning import loading
from bascule.cli.output.errors import legible
from bascule.cli.output.level_messages import raised
from bascule.cli.output.progress import follow
from bascule.core.errors import UsageError
from bascule.core.events import LevelChanged, Sink

if TYPE_CHECKING:
    from bascule.config.model.runtime_config import RuntimeConfig
    from bascule.runtime.runtime import Runtime
    from bascule.runtime.session import AgentSession
    from bascule.store.interface import Store


@asynccontextmanager
async def agent_session(
    options: argparse.Namespace,
    *,
    sinks: Iterable[Sink] = (),
    watch: bool = False,
    config: "RuntimeConfig | None" = None,
) -> "AsyncGenerator[AgentSession]":
    """The agent session a command works in. With `watch`, it follows edits of the config."""
    async with running(options, sinks=sinks, watch=watch, config=config) as runtime:
        yield runtime.session(*acting_for(options))


@asynccontextmanager
async def running(
    options: argparse.Namespace,
    *,
    sinks: Iterable[Sink] = (),
    watch: bool = False,
    config: "RuntimeConfig | None" = None,
) -> "AsyncGenerator[Runtime]":
    """The runtime a command works with."""
    with loading():
        from bascule.runtime.runtime import Runtime  # noqa: PLC0415 -- takes 0.2 s

    config = config or read_config(options)
    # A command shows how every server stands, also when a required one fails, so it does not prove them beforehand.
    # Nor does it serve metrics: what does may run beside it, at the same address.
    unlike = {"prove_required": False, "metrics_page": False}
    made = Runtime(config, sinks=(*sinks, tell_raised, follow), **unlike, **_person(watch=watch))
    if watch:
        made.watch()
    async with made as runtime:
        yield runtime


@asynccontextmanager
async def store_of(options: argparse.Namespace) -> "AsyncGenerator[tuple[Store, RuntimeConfig]]":
    """Where state is kept: by the config, if there is one. No server of it is started."""
    from bascule.config.loading.load import load_file  # noqa: PLC0415 -- takes 50 ms
    from bascule.config.locate import find  # noqa: PLC0415
    from bascule.config.model.runtime_config import RuntimeConfig  # noqa: PLC0415
    from bascule.config.state_dir import state_folder  # noqa: PLC0415
    from bascule.store.open import store_at  # noqa: PLC0415

    path = find(options.config, os.environ)
    config = load_file(path, os.environ) if path is not None else RuntimeConfig({})
    store = store_at(config.store, state_folder(os.environ))
    await store.open()
    try:
        yield store, config
    finally:
        await store.close()


def read_config(options: argparse.Namespace) -> "RuntimeConfig":
    """The config a command works on. What is worth telling about it is told."""
    from bascule.config.find_server import client_server_named  # noqa: PLC0415 -- takes 50 ms
    from bascule.config.loading.load import load_file  # noqa: PLC0415
    from bascule.config.locate import locate  # noqa: PLC0415

    config = load_file(locate(options.config, os.environ), os.environ)
    for note in config.notes:
        print(f"note: {note}", file=sys.stderr)
    for name in _asked_for(options):
        if name in config.kit_servers:
            client_server_named(config, name)
    return config


def _asked_for(options: argparse.Namespace) -> list[str]:
    """The servers that a command names, as those to connect to."""
    command = getattr(options, "command", None)
    if command == "approve":
        return [name.partition("/")[0] for name in options.names]
    named = {"inspect": "name", "login": "name", "logout": "name", "read": "server"}.get(command or "")
    return [getattr(options, named)] if named and getattr(options, named) else []


def _person(*, watch: bool) -> dict[str, Any]:
    """Who answers what servers ask, and agrees to calls that wait for a person. A command that only watches makes no
    requests, so there is nothing that a person could be asked."""
    if watch:
        return {}
    from bascule.cli.prompts.confirm import consent_at_the_terminal  # noqa: PLC0415 -- not every command asks
    from bascule.cli.prompts.elicit import person_at_the_terminal  # noqa: PLC0415

    consent = consent_at_the_terminal(sys.stdin, sys.stderr)
    on_ask = consent.approve if consent is not None else None
    return {"on_elicit": person_at_the_terminal(sys.stdin, sys.stderr), "on_ask": on_ask}


def tell_raised(event: Any) -> None:
    """What a command does may raise a level, and whoever runs it has to know."""
    if isinstance(event, LevelChanged):
        print(legible(raised(event)), file=sys.stderr)


def acting_for(options: argparse.Namespace, default: str = "cli") -> tuple[str, str]:
    """User and session id. What was not given is filled in, and said."""
    # An empty id is not one that was left out: it is wrong, and told so where it is used.
    user = this_user() if options.user is None else options.user
    session = default if options.session is None else options.session
    if options.user is None or options.session is None:
        print(f"acting as user {user}, session {session}", file=sys.stderr)
    return user, session


def this_user() -> str:
    """The user of this machine who runs the command."""
    try:
        return getpass.getuser()
    except (KeyError, OSError) as error:
        raise UsageError("this machine has no name for its user", evidence=str(error), fix="pass --user ID") from error
