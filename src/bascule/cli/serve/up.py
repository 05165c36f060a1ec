"""`bascule up`: connects to every server, shows the state of each link, and follows edits of the config."""

import argparse
import asyncio
import signal
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from bascule.cli import exit_codes
from bascule.cli.json_output.running import DashboardEventShape
from bascule.cli.output.errors import json_line, legible
from bascule.cli.output.progress import settled
from bascule.cli.parser.grammar import Parser
from bascule.cli.parser.options import REQUIRED, add_common
from bascule.cli.serve.dashboard import alone, feed_for
from bascule.cli.session import acting_for, read_config, running
from bascule.cli.views.up import View, view_for
from bascule.cli.views.up_rows import Rows
from bascule.core.events import CatalogChanged, ConfigApplied, ConfigRejected, LinkChanged
from bascule.upstream.key import SHARED
from bascule.upstream.state import USABLE

if TYPE_CHECKING:
    from bascule.records.feed.feed import Feed
    from bascule.runtime.runtime import Runtime
    from bascule.runtime.session import AgentSession


@dataclass(frozen=True, slots=True)
class Settled:
    """It is known how a server stands, its tools included."""

    server: str


class Sign(Enum):
    """What else happens beside events."""

    CONNECTED = auto()
    """Every server was tried."""
    STOP = auto()


Happenings = asyncio.Queue[Any]

_EXAMPLES = """\
  bascule up  until Ctrl-C; edit the config meanwhile, and only what changed is restarted
  bascule up --json  one JSON object a line for everything that happens"""


def add_options(command: Parser) -> None:
    add_common(command.document(_EXAMPLES, REQUIRED))


async def run(options: argparse.Namespace) -> int:
    happenings: Happenings = asyncio.Queue()
    view = view_for(as_json=options.json)
    config = read_config(options)
    feed = feed_for(config.dashboard, _tell)
    sinks = [happenings.put_nowait, *([feed.note] if feed is not None else [])]
    with until_stopped(partial(happenings.put_nowait, Sign.STOP)):
        async with running(options, sinks=sinks, watch=True, config=config) as runtime:
            session = runtime.session(*acting_for(options))
            # The rows say what is waited for from here on.
            settled()
            async with _dashboard(options, runtime, feed):
                try:
                    code = await Watch(session, happenings, view).run()
                finally:
                    view.stopping()
        view.stopped()
    return code


@asynccontextmanager
async def _dashboard(options: argparse.Namespace, runtime: "Runtime", feed: "Feed | None") -> AsyncGenerator[None]:
    if feed is None:
        yield
        return
    async with alone(runtime, feed) as address:
        if options.json:
            shape: DashboardEventShape = {"event": "dashboard", "url": address.opening}
            print(json_line(shape), flush=True)
        else:
            _tell(address.told(openly=True))
        yield


def _tell(words: str) -> None:
    print(legible(words), file=sys.stderr, flush=True)


@contextmanager
def until_stopped(stop: Callable[[], None]) -> Generator[None]:
    """The first SIGINT or SIGTERM calls `stop`, and all is closed in order. Another one ends the program at once."""
    from bascule.sandbox.process.child import kill_all  # noqa: PLC0415 -- slow, and not for the options

    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def end_at_once() -> None:
        # Else their ends would be waited for, each as long as its server may take.
        kill_all()
        raise KeyboardInterrupt

    def signalled() -> None:
        for number in numbers:
            loop.add_signal_handler(number, end_at_once)
        stop()

    for number in numbers:
        loop.add_signal_handler(number, signalled)
    try:
        yield
    finally:
        for number in numbers:
            loop.remove_signal_handler(number)


class Watch:
    """One run: takes what happens, one thing after another, and has it shown."""

    def __init__(self, session: "AgentSession", happenings: Happenings, view: View) -> None:
        self._session = session
        self._happenings = happenings
        self._view = view
        self._rows = Rows()
        self._ready: dict[str, LinkChanged] = {}
        self._started = False
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> int:
        """Until it is stopped, or a `required` server fails at the start. Returns the exit code."""
        self._begin(self._connect())
        try:
            while True:
                self._view.rows(self._rows.of(self._session.servers()))
                code = self._take(await self._happenings.get())
                if code is not None:
                    self._view.rows(self._rows.of(self._session.servers()))
                    return code
        finally:
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    def _take(self, happening: Any) -> int | None:
        match happening:
            case Sign.STOP:
                return exit_codes.OK
            case Sign.CONNECTED:
                return self._judge_start()
            case Settled():
                self._show_ready(happening.server)
            case LinkChanged() if happening.principal in {self._session.principal, SHARED}:
                self._follow(happening)
            case ConfigApplied():
                self._rows.forget(happening)
                self._view.tell(happening)
                self._begin(self._connect())
            case ConfigRejected() | CatalogChanged():
                self._view.tell(happening)
            case _:
                pass
        return None

    def _follow(self, change: LinkChanged) -> None:
        self._ready.pop(change.server, None)
        if change.state not in USABLE:
            self._rows.note(change)
            return
        # Shown once its tools are known. It may have come back by itself, and then nobody else would ask for them.
        self._ready[change.server] = change
        self._begin(self._settle(change.server))

    def _show_ready(self, server: str) -> None:
        ready = self._ready.pop(server, None)
        if ready is not None:
            self._rows.note(ready)

    def _judge_start(self) -> int | None:
        """A `required` server that fails is a failed start. Later edits are proved before they are applied."""
        first, self._started = not self._started, True
        failed = any(report.required and report.error is not None for report in self._session.servers())
        return exit_codes.UNREACHABLE if first and failed else None

    async def _connect(self) -> None:
        async for report in self._session.connecting(keep=True):
            self._happenings.put_nowait(Settled(report.name))
        self._happenings.put_nowait(Sign.CONNECTED)

    async def _settle(self, server: str) -> None:
        await self._session.settle(server, again=True)
        self._happenings.put_nowait(Settled(server))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
