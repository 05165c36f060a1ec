"""Wake-up of runtimes on several machines, by PostgreSQL's LISTEN and NOTIFY. A notification carries no data: it means
*look now*."""

import asyncio
import secrets
from contextlib import suppress

import psycopg

from bascule.store.deadline import LONGEST, current_wait
from bascule.store.postgres.connection import Database, PostgresAddress, told_to_stop

CHANNEL = "bascule_rings"

QUIET = 20.0
"""Seconds of silence after which the connection is asked whether it lives. A network may lose one without a word."""

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 5.0
"""Seconds between two attempts to listen again. Who polls meanwhile learns everything, if a little later."""


class PostgresBell:
    """Listens from the first wish to be woken until it is closed."""

    def __init__(self, address: PostgresAddress) -> None:
        self._address = address
        # Tells our own rings from those of others.
        self._token = secrets.token_hex(8)
        self._rung = asyncio.Event()
        self._listening = asyncio.Event()
        self._missed = False
        self._ears: asyncio.Task[None] | None = None

    async def listen(self) -> None:
        """Return once a ring would be heard, or it is clear that this will take a while."""
        self._start()
        with current_wait().spend() as seconds, suppress(TimeoutError):
            async with asyncio.timeout(min(LONGEST_PAUSE, seconds)):
                await self._listening.wait()

    async def rung(self) -> None:
        self._missed |= not self._listening.is_set()
        self._start()
        await self._rung.wait()
        self._rung.clear()

    async def ring(self, db: Database) -> None:
        await db.execute(b"SELECT pg_notify(%s, %s)", (CHANNEL, self._token))

    async def close(self) -> None:
        ears, self._ears = self._ears, None
        if ears is not None:
            ears.cancel()
            await asyncio.wait((ears,))

    def _start(self) -> None:
        if self._ears is None:
            self._ears = asyncio.create_task(self._listen_on(), name="bell")

    async def _listen_on(self) -> None:
        pause = FIRST_PAUSE
        while not told_to_stop():
            with suppress(psycopg.Error, OSError):
                async with asyncio.timeout(LONGEST):
                    db = await self._address.connect()
                try:
                    await self._hear(db)
                finally:
                    self._listening.clear()
                    self._missed = True
                    await db.close()
                    pause = FIRST_PAUSE
            if not told_to_stop():
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _hear(self, db: Database) -> None:
        async with asyncio.timeout(LONGEST):
            await db.execute(b"LISTEN " + CHANNEL.encode())
        self._listening.set()
        if self._missed:
            # What was rung meanwhile is lost, so it is time to look.
            self._rung.set()
            self._missed = False
        while True:
            readable = await _readable(db, QUIET)
            async with asyncio.timeout(LONGEST):
                if not readable:
                    await db.execute(b"SELECT")
                async for ring in db.notifies(timeout=0):
                    if ring.payload != self._token:
                        self._rung.set()


async def _readable(db: Database, longest: float) -> bool:
    """Whether something came. psycopg itself would look ten times a second."""
    loop = asyncio.get_running_loop()
    came = asyncio.Event()
    descriptor = db.fileno()
    loop.add_reader(descriptor, came.set)
    try:
        async with asyncio.timeout(longest):
            await came.wait()
    except TimeoutError:
        return False
    finally:
        loop.remove_reader(descriptor)
    return True
