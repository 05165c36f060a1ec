"""Progress relay from a server to a caller's callback: one value at a time, and the newest always arrives."""

import asyncio
from contextvars import copy_context
from inspect import isawaitable

from bascule.core.json_types import JsonObject, as_object
from bascule.core.request import OnProgress
from bascule.transports.dispatcher import progress_of

Progress = tuple[float, float | None, str | None]


class ProgressRelay:
    """Between one request's progress notifications and the caller. A newer value replaces one not yet delivered, so a
    storm costs one slot; the newest always arrives."""

    __slots__ = ("_callback", "_context", "_next", "_task", "replaced")

    def __init__(self, callback: OnProgress) -> None:
        self._callback = callback
        self._context = copy_context()
        """Of whoever asked: what their callback does is a part of their call, although it runs beside it."""
        self._next: Progress | None = None
        self._task: asyncio.Task[None] | None = None
        self.replaced = 0

    def offer(self, params: JsonObject) -> None:
        progress = progress_of(params)
        if progress is None:
            return
        if self._next is not None:
            self.replaced += 1
        self._next = progress
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._deliver(), context=self._context)

    async def settle(self, timeout: float) -> None:
        """Wait until what was offered has been delivered: progress comes before the result it led to.

        What the callback raises is reported by the loop, as for any task; it must not cost the caller the result.
        """
        if self._task is not None:
            await asyncio.wait((self._task,), timeout=timeout)
            self.stop()

    def stop(self) -> None:
        # Cancelling a task that has failed would keep its failure from being reported.
        if self._task is not None and not self._task.done():
            self._task.cancel()

    async def _deliver(self) -> None:
        while self._next is not None:
            progress, self._next = self._next, None
            answer = self._callback(*progress)
            if isawaitable(answer):
                await answer


def with_token(params: JsonObject | None, request_id: int) -> JsonObject:
    """The parameters of a request with a wish for progress, under the request's own id."""
    given = params or {}
    return {**given, "_meta": {**as_object(given.get("_meta")), "progressToken": request_id}}
