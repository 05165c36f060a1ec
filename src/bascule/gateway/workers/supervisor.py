"""Supervisor of a gateway's worker processes, which all accept connections at one inherited socket. `WorkerLine` is the
worker's end of the control socket: it reports readiness and receives the order to stop."""

import asyncio
import itertools
import socket
import subprocess
from collections.abc import Callable, Sequence
from contextlib import suppress

from bascule.gateway.http.server import FAREWELL

READY, RETIRE, STOP = b"ready\n", b"retire\n", b"stop\n"
"""What is said between a worker and its supervisor. That nothing can be said any more says that the other is gone."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds before a worker that has died is started again. Doubled with each death, until one has lived for a while."""

LIVED = 30.0
"""Seconds after which the death of a worker is a new story."""

STARTING = 120.0
"""Seconds for a worker to be ready. It may have to try every `required` server first."""

LAST_WORDS = 5.0
"""Seconds for a worker that has hung up to end."""

ENDING = 2 * FAREWELL + 15.0
"""Seconds for a worker to end. It waits for idle connections, then for requests under way, then for its servers."""

Command = Callable[[int, int], Sequence[str]]
"""The program of a worker, given the descriptor of its line to us, and a number that no other has while it lives."""

Tell = Callable[[str], None]


class NotStarted(Exception):
    """A worker ended before it was ready. It has told why."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"it ended with code {exit_code} before it was ready")
        self.exit_code = exit_code


class Worker:
    """One process that serves."""

    def __init__(self, process: asyncio.subprocess.Process, line: socket.socket) -> None:
        self._process = process
        self._line = line
        self.leaving = False
        """Whether it was told to end."""
        self.since = asyncio.get_running_loop().time()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> bool:
        return self._process.returncode is not None

    async def ready(self) -> bool:
        """Wait for its word. False if it has ended instead, or takes for ever."""
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(STARTING):
                heard = b""
                loop = asyncio.get_running_loop()
                while READY not in heard and (piece := await loop.sock_recv(self._line, 64)):
                    heard += piece
                return READY in heard
        return False

    def say(self, word: bytes) -> None:
        """Tell it to end. One that does not is killed in the end."""
        self.leaving = True
        asyncio.get_running_loop().call_later(ENDING, self.kill)
        with suppress(OSError):  # it is gone, or full of words it has not heard: both are seen to by who waits
            self._line.send(word)

    async def wait(self) -> int:
        return await self._process.wait()

    def kill(self) -> None:
        if not self.ended:
            with suppress(ProcessLookupError):
                self._process.kill()

    def close(self) -> None:
        self._line.close()


class Supervisor:
    """All workers at one socket. Whoever dies is started again; the others do not notice."""

    def __init__(self, command: Command, inherited: Sequence[socket.socket], tell: Tell) -> None:
        self._command = command
        self._inherited = inherited
        self._tell = tell
        self._workers: dict[Worker, asyncio.Task[None]] = {}
        self._reviving: set[asyncio.Task[None]] = set()
        self._rolling = asyncio.Lock()
        self._pause = FIRST_PAUSE
        self._stopping = False
        self._numbers = set[int]()
        """Of those that live, or are about to."""

    @property
    def serving(self) -> list[Worker]:
        """Those that are to stay."""
        return [worker for worker in self._workers if not worker.leaving]

    async def start(self, count: int) -> None:
        """Return once all are ready. Raises `NotStarted` for the first that cannot be."""
        await asyncio.gather(*(self._add() for _ in range(count)))

    async def restart(self, count: int) -> None:
        """Have a new worker for each, one after the other; an old one goes when the new one is ready. Where a new one
        cannot start, the old ones stay."""
        async with self._rolling:
            old = self.serving
            try:
                for place in range(count):
                    await self._add()
                    if place < len(old):
                        old[place].say(RETIRE)
            except NotStarted as error:
                self._tell(f"the old workers stay, since a new one cannot start: {error}")
                return
            for surplus in old[count:]:
                surplus.say(RETIRE)
            self._tell(f"{count} workers were started anew")

    async def stop(self) -> None:
        """End all of them, each after the requests that it has under way."""
        self._stopping = True
        for task in self._reviving:
            task.cancel()
        for worker in self._workers:
            worker.say(STOP)
        if self._workers:
            await asyncio.wait(self._workers.values(), timeout=ENDING)
        await self.kill()

    async def kill(self) -> None:
        """End at once whoever is left."""
        self._stopping = True
        for worker in self._workers:
            worker.kill()
        tasks = [*self._workers.values(), *self._reviving]
        if tasks:
            await asyncio.wait(tasks)

    async def _add(self) -> None:
        ours, theirs = socket.socketpair()
        number = next(each for each in itertools.count() if each not in self._numbers)
        self._numbers.add(number)
        with theirs:
            ours.setblocking(False)  # noqa: FBT003
            argv = self._command(theirs.fileno(), number)
            try:
                process = await asyncio.create_subprocess_exec(
                    *argv,
                    stdin=subprocess.DEVNULL,
                    pass_fds=[each.fileno() for each in (*self._inherited, theirs)],
                    # What a terminal sends to everybody is for us alone: workers hear from us when to end.
                    start_new_session=True,
                )
            except BaseException:
                ours.close()
                self._numbers.discard(number)
                raise
        worker = Worker(process, ours)
        self._workers[worker] = asyncio.create_task(self._watch(worker, number), name=f"worker {worker.pid}")
        if await worker.ready():
            return
        worker.leaving = True
        # It is about to end by itself, with a code that tells why.
        with suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await worker.wait()
        worker.kill()
        raise NotStarted(await worker.wait())

    async def _watch(self, worker: Worker, number: int) -> None:
        try:
            code = await worker.wait()
        finally:
            worker.close()
            self._workers.pop(worker, None)
            self._numbers.discard(number)
        if worker.leaving or self._stopping:
            return
        if asyncio.get_running_loop().time() - worker.since > LIVED:
            self._pause = FIRST_PAUSE
        self._tell(f"worker {worker.pid} has ended with code {code}; another one is started")
        reviving = asyncio.create_task(self._revive())
        self._reviving.add(reviving)
        reviving.add_done_callback(self._reviving.discard)

    async def _revive(self) -> None:
        while not self._stopping:
            await asyncio.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
            try:
                await self._add()
            except (NotStarted, OSError) as error:
                self._tell(f"a worker could not be started, which is tried again: {error}")
            else:
                return


class WorkerLine:
    """A worker's end of the control socket, read for as long as the worker lives. If the supervisor is gone, the worker
    stops: no other process would end it."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self._line.setblocking(False)  # noqa: FBT003
        self._hearing: asyncio.Task[None] | None = None

    def ready(self) -> None:
        with suppress(OSError):  # then it is gone, which is heard
            self._line.send(READY)

    def listen(self, *, retire: Callable[[], None], stop: Callable[[], None]) -> None:
        self._hearing = asyncio.create_task(self._hear(retire, stop), name="line to the supervisor")

    async def close(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
            await asyncio.wait((self._hearing,))
        self._line.close()

    async def _hear(self, retire: Callable[[], None], stop: Callable[[], None]) -> None:
        loop = asyncio.get_running_loop()
        with suppress(OSError):
            while word := await loop.sock_recv(self._line, len(RETIRE)):
                if word == RETIRE:
                    retire()
                else:
                    break
        stop()
