"""Wrappers: functions of a program around single tools, which see the arguments first and the outcome last. A wrapper's
own call of its tool goes through the executor like any other."""

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from bascule.catalog.call_checks import check_result
from bascule.catalog.entry import Entry
from bascule.core.call import ToolCall
from bascule.core.errors import ReplyTimeout, UsageError
from bascule.core.json_types import JsonObject
from bascule.core.outcome import Outcome, ToolFailure, ToolResult
from bascule.core.principal import Principal
from bascule.core.tool import ToolKey, ToolSpec
from bascule.runtime.call_state import Trail
from bascule.runtime.prepared_call import Prepared, values_of
from bascule.runtime.requests.tool_call import INNER_CALL
from bascule.runtime.result_limits import limited_outcome
from bascule.runtime.session_context import Governed, Standing
from bascule.transports.inprocess.python_result import failure_reply, is_meant, reply_of
from bascule.wire.results import read_fatal, take_outcome

_log = logging.getLogger("bascule.native")

GRACE = 1.0
"""Seconds that a wrapper has to end in once it is told to. What it asked for has ended by then in any case."""

BEFORE = ("resolve", "validate", "ask", "decide", "lease")
"""The steps of a call before it is sent."""

Carry = Callable[[Standing, Any, ToolCall], Awaitable[Outcome]]
"""The executor: takes on whose behalf, which kind of request, and the request."""

Ask = Callable[[Mapping[str, Any]], Awaitable[Outcome]]

Wrapper = Callable[["Wrapped", dict[str, Any]], Awaitable[Any]]
"""Stands around a tool. It is given the tool, to call, and the arguments of the caller; what it returns is the outcome:
that of the tool, another, or whatever a native tool may return."""


class Wrapped:
    """The tool inside a wrapper, for the course of one call. Calling it is calling the tool: the arguments are checked,
    the rules are asked, a person is where they want that. It can be called again, or not at all."""

    def __init__(self, spec: ToolSpec, principal: Principal, ask: Ask) -> None:
        self.tool = spec
        self.principal = principal
        self._ask = ask

    async def __call__(self, arguments: Mapping[str, Any]) -> Outcome:
        return await self._ask(arguments)


class Wrapping:
    """The wrappers of one runtime: at most one around a tool."""

    def __init__(self) -> None:
        self._by_name: dict[str, Wrapper] = {}
        self._by_key: dict[ToolKey, Wrapper] = {}

    def add(self, tool: str | tuple[str, str], wrapper: Wrapper) -> None:
        """Around a tool by the name that agents use, or by its server and the server's own name for it."""
        kept: dict[Any, Wrapper] = self._by_name if isinstance(tool, str) else self._by_key
        key = tool if isinstance(tool, str) else ToolKey(*tool)
        if not inspect.iscoroutinefunction(wrapper):
            raise UsageError(f"the wrapper around {key} is no coroutine function", fix="write it with `async def`")
        if key in kept:
            raise UsageError(f"there is a wrapper around {key} already", fix="put both into one")
        kept[key] = wrapper

    def around(self, spec: Governed) -> Wrapper | None:
        found = self._by_name.get(spec.name)
        if not self._by_key:
            return found
        other = self._by_key.get(spec.key)
        if found is not None and other is not None:
            raise UsageError(f"there are two wrappers around {spec.key}", fix="put both into one")
        return found or other

    async def run(
        self, wrapper: Wrapper, standing: Standing, entry: Any, prepared: Prepared, trail: Trail, carry: Carry
    ) -> Any:
        """What a wrapper makes of a call."""
        trail.native = True
        trail.lane = standing.roster.lane(standing.principal, trail.server)
        course = _Course(standing, prepared, trail, carry)
        inside = Wrapped(entry.spec, standing.principal, course.ask)
        # A task, so that whatever it raises is told, and its end can be waited for.
        task = asyncio.ensure_future(_awaited(wrapper(inside, values_of(prepared))))
        try:
            await course.wait_for(task)
        finally:
            course.over = True
        outcome = _outcome(task, standing, entry, trail)
        limit = standing.config(trail.server).limit
        return outcome if limit is None else await limited_outcome(standing, outcome, limit)


class _Course:
    """The time of one wrapped call. What the tool inside waits for before it is sent, a person or a link, does not
    count, as it would not without the wrapper."""

    def __init__(self, standing: Standing, prepared: Prepared, trail: Trail, carry: Carry) -> None:
        self._standing = standing
        self._on_progress = prepared.on_progress
        self._respondent = trail.respondent
        self._name = trail.name
        self._carry = carry
        self._limit = self._left = standing.limit_of(prepared)
        self._now = asyncio.get_running_loop().time
        self._clock: asyncio.Timeout | None = None
        self._since = self._now()
        self._inside = 0
        self._longest = 0.0
        self.over = False

    async def wait_for(self, task: "asyncio.Task[Any]") -> None:
        """Until the wrapper has ended. It does not outlive the call: raises `ReplyTimeout`."""
        try:
            async with asyncio.timeout(self._left) as self._clock:
                await asyncio.wait((task,))
        except TimeoutError:
            raise ReplyTimeout(
                f"the wrapper around {self._name} did not end within {self._limit:g} s",
                phase="call",
                timeout=self._limit,
                fix="if it is only slow, call with a longer `timeout`, or raise `timeouts.call` of the server",
            ) from None
        finally:
            self.over = True
            if not task.done():
                task.cancel()
                await asyncio.wait((task,), timeout=GRACE)

    async def ask(self, arguments: Mapping[str, Any]) -> Outcome:
        if self.over:
            raise UsageError(f"the call of {self._name} is over", fix="await the tool before the wrapper returns")
        left = self._enter()
        if left <= 0:
            # What comes next is the end of the call.
            self._leave(0.0)
            await asyncio.get_running_loop().create_future()
        call = ToolCall(self._name, dict(arguments), left, self._on_progress, self._respondent)
        began, spent = self._now(), 0.0
        try:
            outcome = await self._carry(self._standing, INNER_CALL, call)
            spent = _since_sent(outcome, self._now() - began)
        finally:
            self._leave(spent)
        return outcome

    def _enter(self) -> float:
        """What is left of the time for the tool itself."""
        if not self._inside:
            self._left -= self._now() - self._since
            self._longest = 0.0
            self._set(None)
        self._inside += 1
        return self._left

    def _leave(self, spent: float) -> None:
        self._longest = max(self._longest, spent)
        self._inside -= 1
        if not self._inside:
            self._left -= self._longest
            self._since = self._now()
            self._set(self._since + max(self._left, 0.0))

    def _set(self, when: float | None) -> None:
        if self._clock is not None and not self.over:
            self._clock.reschedule(when)


def _since_sent(outcome: Outcome, seconds: float) -> float:
    """How much of the time that a tool took it had been sent for."""
    steps = outcome.steps
    return max(seconds - sum(steps.get(step, 0.0) for step in BEFORE), 0.0) if "lease" in steps else 0.0


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def _outcome(task: "asyncio.Task[Any]", standing: Standing, entry: Entry, trail: Trail) -> Outcome:
    """What a wrapper has made of the call. A failure of the tool that it passes on stays what it is."""
    error = asyncio.CancelledError() if task.cancelled() else task.exception()
    if error is not None and not is_meant(error):
        _log.error("the wrapper around %s raised", trail.name, exc_info=error)
    answer: Any = None if error is not None else task.result()
    if isinstance(answer, ToolFailure):
        return answer
    raw = failure_reply(f"the wrapper around {trail.name}", error) if error is not None else _raw(answer, trail)
    outcome = take_outcome(raw, trail.server, trail.tool, trail.lane, trail.steps, standing.config(trail.server).render)
    if isinstance(outcome, ToolFailure):
        return standing.mask_of(trail.server).failure(read_fatal(outcome, raw))
    if entry.results is not None:
        check_result(entry, raw)
    return outcome


def _raw(answer: Any, trail: Trail) -> JsonObject:
    if isinstance(answer, ToolResult):
        return answer.raw
    try:
        return reply_of(answer)
    except (TypeError, ValueError) as error:
        _log.error("the wrapper around %s returned what JSON cannot say", trail.name, exc_info=error)
        return failure_reply(f"the wrapper around {trail.name}", error)
