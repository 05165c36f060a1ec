"""Bounding a wait, so that a test of something that hangs fails instead of hanging."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def fail_after(seconds: float, what: str = "the body") -> AsyncGenerator[None]:
    """Fail if `what` is not done in time. A `TimeoutError` that the body itself raises passes through."""
    scope = asyncio.timeout(seconds)
    try:
        async with scope:
            yield
    except TimeoutError as error:
        if not scope.expired():
            raise
        raise AssertionError(f"{what} was not done within {seconds} s") from error


async def until(true: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for something that happens in another process, and that nothing tells us of."""
    async with fail_after(seconds, "what was waited for"):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.01)
