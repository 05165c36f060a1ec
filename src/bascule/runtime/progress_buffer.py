"""Progress buffer: holds the progress of a tool back until the sensitivity of its outcome is known."""

import asyncio
from collections import deque
from inspect import isawaitable

from bascule.core.request import OnProgress

MOST_HELD = 100
"""Words of progress that are kept. The later ones are worth more."""

LONGEST_TELLING = 60.0
"""Seconds that a caller may take to hear them."""


class Withholding:
    """Takes progress in place of the caller, who is told once the outcome may be seen."""

    def __init__(self, on_progress: OnProgress) -> None:
        self._on_progress = on_progress
        self._held: deque[tuple[float, float | None, str | None]] = deque(maxlen=MOST_HELD)

    def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        self._held.append((progress, total, message))

    async def release(self, limit: float = LONGEST_TELLING) -> None:
        """Tell the caller. What their callback raises is reported by the loop, and does not cost them the outcome."""
        if not self._held:
            return
        telling = asyncio.create_task(self._tell())
        await asyncio.wait((telling,), timeout=limit)
        if not telling.done():
            telling.cancel()

    async def _tell(self) -> None:
        while self._held:
            answer = self._on_progress(*self._held.popleft())
            if isawaitable(answer):
                await answer
