"""State of one POST in flight: its deadline, its permit, and if any byte has left."""

import asyncio
from collections.abc import Callable
from math import inf

from bascule.core.errors import (
    BasculeError,
    ConnectFailed,
    ConnectionLost,
    LaneClosed,
    PeerError,
    PermitLost,
    ReplyTimeout,
)
from bascule.core.request import Request
from bascule.transports.progress import ProgressRelay
from bascule.wire.jsonrpc import RequestId

CONFIGURABLE = frozenset({"connect", "probe", "list", "call", "close"})
"""Phases whose time an operator can set."""


class Exchange:
    """A request on its way. Its deadline first bounds connecting, and from the write on the wait for the whole reply.

    When it passes, the task that waits is cancelled; `take_back` tells such a cancellation from one that somebody else
    wished for. `keep` is told of a deadline and calls `expire`, as the one timer of all requests of a link does.
    """

    __slots__ = (
        "_cancelling",
        "_connect_timeout",
        "_keep",
        "_loop",
        "_taken_back",
        "_task",
        "barred",
        "cut_off",
        "deadline",
        "expired",
        "handed_over",
        "key",
        "over",
        "refused",
        "relay",
        "request",
        "seen",
        "taken_up",
        "transport",
    )

    def __init__(
        self, request: Request, key: RequestId | None, connect_timeout: float, keep: Callable[[float], None]
    ) -> None:
        self.request = request
        self.key = key
        self.relay = ProgressRelay(request.on_progress) if request.on_progress is not None else None
        self.handed_over = False
        """Whether bytes may have left us."""
        self.refused = False
        """Whether the permit was no longer valid when bytes were about to leave."""
        self.expired = False
        self.over = False
        self.cut_off = ""
        """Why the whole link ended under this request, if it did."""
        self.barred: PeerError | None = None
        """Why its lane was closed under it, if it was."""
        self.transport: asyncio.BaseTransport | None = None
        """The socket that its bytes were handed to."""
        self.seen = "nothing came back"
        self.taken_up = False
        """Whether the server has begun to answer, so that it surely knows of the request."""
        self.deadline = inf
        """In seconds of the loop's clock."""
        self._connect_timeout = connect_timeout
        self._keep = keep
        self._taken_back = False

    def begin(self) -> None:
        """Set the deadline, in the task that will wait."""
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._loop = loop = task.get_loop()
        self.deadline = loop.time() + self._connect_timeout
        self._keep(self.deadline)

    def claim(self) -> None:
        """Ask for leave to write, in the very step that writes. Raises `PermitLost`."""
        permit = self.request.permit
        # The writing happens in a task of aiohttp's, which may outlive the request by a step, or run in the step
        # between its cancellation and its end. Whoever waits may have been told by then that nothing was sent.
        if self.over or self.expired or (permit is not None and not permit.valid()):
            self.refused = True
            raise PermitLost("the agent session changed before the request was written", where=self.request.phase)
        if not self.handed_over:
            self.move(self.request.timeout)

    def move(self, seconds: float) -> None:
        """Put the deadline that many seconds from now."""
        self.deadline = self._loop.time() + seconds
        self._keep(self.deadline)

    def cut(self, reason: str) -> None:
        """End this request now: its link is gone."""
        if not self.expired:
            self.cut_off = reason
            self.expire()

    def bar(self, reason: PeerError) -> None:
        """End this request now, with whatever of it is still buffered: its lane is closed."""
        if not self.over:
            self.barred = self.barred or reason
            self.expire()
        if isinstance(self.transport, asyncio.WriteTransport):
            self.transport.abort()

    def expire(self) -> None:
        """End the wait, once: a task that was cancelled may take a while to clean up after itself."""
        if not (self.expired or self.over):
            self.expired = True
            self._task.cancel()

    def take_back(self) -> bool:
        """Whether the deadline alone ended the wait. Its cancellation is then taken back."""
        if not self.expired or self._taken_back:
            return False
        self._taken_back = True
        return self._task.uncancel() <= self._cancelling

    @property
    def since(self) -> float:
        """When this began: its connecting, or later its wait for the reply."""
        return self.deadline - (self.request.timeout if self.handed_over else self._connect_timeout)

    def end(self) -> None:
        self.over = True
        self.take_back()

    def left(self) -> float:
        """Seconds until the deadline."""
        return max(0.0, self.deadline - self._loop.time())

    def failure(self, where: str) -> BasculeError:
        """What the passing of the deadline means."""
        if self.barred is not None:
            if not self.handed_over:
                return PermitLost(self.barred.message, where=self.request.phase)
            return LaneClosed(self.barred.message, cause=self.barred.cause, fix=self.barred.fix)
        if self.cut_off:
            return ConnectionLost(self.cut_off, sent=self.handed_over)
        if not self.handed_over:
            return ConnectFailed(
                f"no connection to {where} within {self._connect_timeout:g} s",
                where=where,
                cause="the server is down, or a firewall drops what we send",
                fix="check the URL, or raise timeouts.connect",
            )
        request = self.request
        return ReplyTimeout(
            f"no reply to {request.method} from {where} within {request.timeout:g} s",
            phase=request.phase,
            timeout=request.timeout,
            evidence=self.seen,
            fix=f"raise timeouts.{request.phase} if this may take longer" if request.phase in CONFIGURABLE else "",
        )
