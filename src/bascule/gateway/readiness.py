"""Readiness of this process: starting, ready or draining."""

import asyncio


class Readiness:
    """How far one gateway is in its life. Whoever keeps a connection open for long ends it once `ending` is over."""

    def __init__(self) -> None:
        self._begun = False
        self._over = asyncio.Event()
        self.draining = False
        """Whether what is under way is answered, and nobody new is taken. Every answer asks."""

    @property
    def ready(self) -> bool:
        """New clients may be sent here."""
        return self._begun and not self.draining

    def begin(self) -> None:
        self._begun = True

    def end(self) -> None:
        self.draining = True
        self._over.set()

    async def ending(self) -> None:
        """Wait until the end has begun."""
        await self._over.wait()
