"""One POST in flight: its one timer, its leave to write, and whether anything has left us."""

import asyncio

from bascule.core.errors import ConnectFailed, ConnectionLost, PeerError, PermitLost, ReplyTimeout
from bascule.core.request import Request
from bascule.transports.progress import ProgressRelay
from bascule.wire.jsonrpc import RequestId

CONFIGURABLE = frozenset({"connect", "probe", "list", "call", "close"})
"""Phases whose time an operator can set."""

FAR = 3600.0
"""Longest that the loop's timer is set ahead, in seconds. It is set again as often as needed."""


class Exchange:
    """A request on its way. Its timer first bounds connecting, and from the write on the wait for the whole reply.

    The timer ends the request by cancelling the task that waits for it; `take_back` tells such a cancellation from one
    that somebody else wished for. The loop's timer is set once, and again only if it goes off too early: most requests
    are over long before, and an `asyncio.timeout` that is moved at the write costs twice as much.
    """

    __slots__ = (
        "_cancelling",
        "_connect_timeout",
        "_loop",
        "_rings_at",
        "_taken_back",
        "_task",
        "_timer",
        "_when",
        "cut_off",
        "expired",
        "handed_over",
        "key",
        "over",
        "refused",
        "relay",
        "request",
        "seen",
    )

    def __init__(self, request: Request, key: RequestId | None, connect_timeout: float) -> None:
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
        self.seen = "nothing came back"
        self._connect_timeout = connect_timeout
        self._taken_back = False

    def begin(self) -> None:
        """Start the timer, in the task that will wait."""
        task = asyncio.current_task()
        assert task is not None
        self._task = task
        self._cancelling = task.cancelling()
        self._loop = loop = task.get_loop()
        now = loop.time()
        self._when = now + self._connect_timeout
        # As early as any deadline of this request can be, so that the write need not set it again.
        self._rings_at = now + min(self._connect_timeout, self.request.timeout)
        self._timer = loop.call_at(self._rings_at, self._ring)

    def claim(self) -> None:
        """Ask for leave to write, in the very step that writes. Raises `PermitLost`."""
        permit = self.request.permit
        # The writing happens in a task of aiohttp's, which may outlive the request by a step.
        if self.over or (permit is not None and not permit.valid()):
            self.refused = True
            raise PermitLost("the agent session changed before the request was written", where=self.request.phase)
        if not self.handed_over:
            self.move(self.request.timeout)

    def move(self, seconds: float) -> None:
        """Let the timer go off that many seconds from now."""
        self._when = self._loop.time() + seconds
        if self._when < self._rings_at:
            self._timer.cancel()
            self._set_timer()

    def cut(self, reason: str) -> None:
        """End this request now: its link is gone."""
        if not self.expired:
            self.cut_off = reason
            self._timer.cancel()
            self._expire()

    def take_back(self) -> bool:
        """Whether the timer alone ended the wait. Its cancellation is then taken back."""
        if not self.expired or self._taken_back:
            return False
        self._taken_back = True
        return self._task.uncancel() <= self._cancelling

    def end(self) -> None:
        self.over = True
        self._timer.cancel()
        self.take_back()

    def left(self) -> float:
        """Seconds until the timer goes off."""
        return max(0.0, self._when - self._loop.time())

    def failure(self, where: str) -> PeerError:
        """What the end of the timer means."""
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

    def _ring(self) -> None:
        if self._loop.time() < self._when:
            self._set_timer()
        else:
            self._expire()

    def _expire(self) -> None:
        self.expired = True
        self._task.cancel()

    def _set_timer(self) -> None:
        # A subscription may wait for ever, which is more than a loop can count to.
        self._rings_at = min(self._when, self._loop.time() + FAR)
        self._timer = self._loop.call_at(self._rings_at, self._ring)
