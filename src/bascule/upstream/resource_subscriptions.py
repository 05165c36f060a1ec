"""Resource subscriptions on a link of the new era: one long request for all resources that one agent session
follows."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial

from bascule.core.errors import BasculeError, ConnectionLost, PeerError, PeerRefused, PermitLost, ReplyTimeout
from bascule.core.json_types import JsonObject, as_object, is_array
from bascule.core.request import Permit, Request
from bascule.wire.request_meta import INVALID_PARAMS

LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"

RENEWED = 900.0
"""Seconds after which the long request is made anew. A connection can die without a word, and nobody would notice."""

FIRST_WAIT = 1.0
LONGEST_WAIT = 60.0
"""Seconds before asking again a server that has ended the long request. They double, and begin anew after one that has
lasted longer than that: a server that ends it at once, again and again, is asked once a minute."""


class Following:
    """The resources that are followed under one permit. Whatever is written for them is written under it."""

    def __init__(
        self,
        send: Callable[[Request], Awaitable[JsonObject]],
        permit: Permit | None,
        tell: Callable[[str], None],
        hear: Callable[[str, JsonObject], None],
    ) -> None:
        self._send = send
        self._permit = permit
        self._tell = tell
        self._hear_other = hear
        self._wanted: dict[str, None] = {}
        self._told = set[str]()
        """Of which the server has said that it will tell."""
        self._waiting: dict[str, asyncio.Future[None]] = {}
        self._asking: dict[asyncio.Task[None], frozenset[str]] = {}
        """The long requests, the newest last. There are two of them while one takes over from the other."""
        self._keeping: asyncio.Task[None] | None = None
        self._more = asyncio.Event()

    @property
    def idle(self) -> bool:
        return not self._wanted

    async def add(self, uri: str, timeout: float) -> None:
        """Returns once the server has said that it will tell of this resource. Raises why it does not."""
        self._wanted[uri] = None
        if uri in self._told:
            return
        waiting = self._waiting.get(uri)
        if waiting is None:
            waiting = self._waiting[uri] = asyncio.get_running_loop().create_future()
        self._more.set()
        if self._keeping is None or self._keeping.done():
            self._keeping = asyncio.create_task(self._keep())
        try:
            async with asyncio.timeout(timeout):
                await asyncio.shield(waiting)
        except TimeoutError:
            self.remove(uri)
            raise ReplyTimeout(
                f"the server did not acknowledge a subscription within {timeout:g} s", phase="call", timeout=timeout
            ) from None
        except BaseException:
            self.remove(uri)
            raise

    def remove(self, uri: str) -> None:
        """Of what is no longer wanted nothing is passed on. The server hears of it with the next long request."""
        self._wanted.pop(uri, None)
        self._told.discard(uri)
        waiting = self._waiting.pop(uri, None)
        if waiting is not None and not waiting.done():
            waiting.cancel()
        if self.idle:
            self._stop()

    async def end(self) -> None:
        tasks = [*self._asking, *([self._keeping] if self._keeping is not None else [])]
        self._stop()
        self._fail(ConnectionLost("the link was closed", sent=False))
        if tasks:
            await asyncio.wait(tasks)

    def _stop(self) -> None:
        for task in (*self._asking, self._keeping):
            if task is not None:
                task.cancel()

    def _fail(self, error: BasculeError) -> None:
        waiting, self._waiting = self._waiting, {}
        for uri, future in waiting.items():
            self._wanted.pop(uri, None)
            if not future.done():
                future.set_exception(error)
                future.exception()

    async def _keep(self) -> None:
        """Have one long request for all that is wanted, and another one whenever more is, or it has ended."""
        now, wait = asyncio.get_running_loop().time, FIRST_WAIT
        while self._wanted:
            began = now()
            self._more.clear()
            asked = frozenset(self._wanted)
            asking = asyncio.create_task(self._ask(asked))
            self._asking[asking] = asked
            asking.add_done_callback(self._asked)
            more = asyncio.create_task(self._more.wait())
            try:
                await asyncio.wait((asking, more), return_when=asyncio.FIRST_COMPLETED)
            finally:
                more.cancel()
            if not asking.done():
                continue
            if not self._wanted or (self._permit is not None and not self._permit.valid()):
                return
            self._told.clear()
            wait = FIRST_WAIT if now() - began > LONGEST_WAIT else wait
            with suppress(TimeoutError):
                async with asyncio.timeout(wait):
                    await self._more.wait()
            wait = min(2 * wait, LONGEST_WAIT)

    async def _ask(self, asked: frozenset[str]) -> None:
        wanted = {"notifications": {"resourceSubscriptions": sorted(asked)}}
        hear = partial(self._hear, asked)
        try:
            await self._send(Request(LISTEN, wanted, RENEWED, "listen", self._permit, on_notice=hear))
        except (PeerError, PermitLost) as error:
            # Before it was acknowledged this is the answer to those who wait; later, it is only over.
            self._fail(error)

    def _asked(self, task: asyncio.Task[None]) -> None:
        self._asking.pop(task, None)
        if not task.cancelled():
            task.exception()

    def _hear(self, asked: frozenset[str], method: str, params: JsonObject) -> None:
        if method == ACKNOWLEDGED:
            self._acknowledged(asked, params)
        elif method == UPDATED:
            uri = params.get("uri")
            if isinstance(uri, str) and self._wanted:
                self._tell(uri)
        else:
            self._hear_other(method, params)

    def _acknowledged(self, asked: frozenset[str], params: JsonObject) -> None:
        honored = as_object(params.get("notifications")).get("resourceSubscriptions")
        kept = asked & {uri for uri in honored if isinstance(uri, str)} if is_array(honored) else frozenset[str]()
        for earlier in [task for task, uris in self._asking.items() if uris != asked and uris <= asked]:
            # The newer one tells of all that the earlier did.
            earlier.cancel()
        for uri in asked & self._wanted.keys():
            self._settle(uri, kept=uri in kept)

    def _settle(self, uri: str, *, kept: bool) -> None:
        waiting = self._waiting.pop(uri, None)
        if not kept:
            self._wanted.pop(uri, None)
            if waiting is not None and not waiting.done():
                waiting.set_exception(PeerRefused("the server does not tell of changes there", rpc_code=INVALID_PARAMS))
                waiting.exception()
        elif waiting is not None and not waiting.done():
            waiting.set_result(None)
        elif uri not in self._told:
            # Nothing was told while nobody listened.
            self._tell(uri)
        if kept:
            self._told.add(uri)
