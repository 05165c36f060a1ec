"""Bounding a wait, so that a test of something that hangs fails instead of hanging."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

PATIENCE = 4 if os.environ.get("CI") == "true" else 1
"""What every bound is multiplied by. A bound is there for what hangs, and says nothing of how long a thing takes: where others
have a share of the machine, the same thing may take several times as long."""


@asynccontextmanager
async def fail_after(seconds: float, what: str = "the body") -> AsyncGenerator[None]:
    """Fail if `what` is not done in time. A `TimeoutError` that the body itself raises passes through."""
    bound = seconds * PATIENCE
    scope = asyncio.timeout(bound)
    try:
        async with scope:
            yield
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise AssertionError(f"{what} was not done within {bound} s") from error


async def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that happens in another process, and that nothing tells us of."""
    async with fail_after(seconds, "what was waited for"):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
