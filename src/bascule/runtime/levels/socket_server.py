"""Level socket for a kit server in a sandbox, and the provision that gives each sandbox its own. Through it the server
can read the sensitivity level of its agent session and raise it, and nothing else."""

import asyncio
import logging
import os
import socket
import stat
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from itertools import count
from pathlib import Path

from bascule.config.state_dir import RAISE_SOCKET_VARIABLE
from bascule.core.errors import BasculeError, ProtocolViolation, SandboxError, UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.sandbox.spec.box import RAISE_SOCKET
from bascule.sandbox.spec.engine import Engine
from bascule.sandbox.spec.launch_request import Order
from bascule.sensitivity.private_data import check_dataset
from bascule.wire.level_protocol import LONGEST, Raise, read_request, refusing, telling

AT_ONCE = 8
"""Requests that are answered at the same time. Others wait in the kernel."""

PACE = 200
"""Requests in a second. A server asks before each call that reaches out; one that asks more often keeps us busy."""

PATIENCE = 5.0
"""Seconds for a server to send its line, and for it to take the answer."""

MOST_DATASETS = 1000
"""Names that are kept for one server and agent session. What comes after that raises the level all the same."""

_log = logging.getLogger("bascule.runtime")


class RaiseSocket:
    """The socket of one server in one agent session. One connection carries one request and its answer."""

    def __init__(
        self,
        path: Path,
        principal: Principal,
        server: str,
        level_of: Callable[[Principal], DataSensitivity],
        raise_to: Callable[[Principal, DataSensitivity, Cause], Awaitable[None]],
    ) -> None:
        """`raise_to` returns when the level is durable, and nobody can write to a wider lane any more."""
        self.path = path
        self._principal = principal
        self._server = server
        self._level_of = level_of
        self._raise_to = raise_to
        self._kept: dict[str, DataSensitivity] = {}
        self._listening: socket.socket | None = None
        self._serving: asyncio.Task[None] | None = None
        self._answering: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """From here on a box that is given the socket can use it. Raises `SandboxError`."""
        try:
            self._listening = _bound(self.path)
        except OSError as error:
            raise SandboxError(
                f"{self._server} cannot be given a socket to raise levels through",
                where=str(self.path),
                evidence=error.strerror or str(error),
                fix="let the state folder be one that only you can read and write, on a disk that has room",
            ) from error
        self._serving = asyncio.create_task(self._serve(self._listening), name="raise socket")

    async def close(self) -> None:
        """Nobody is answered any more. A raise that has begun is seen to all the same. Twice does no harm."""
        tasks = [task for task in (self._serving, *self._answering) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._serving = None
        if self._listening is not None:
            self._listening.close()
            self._listening = None
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    async def _serve(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        free = asyncio.Semaphore(AT_ONCE)
        begun, asked = time.monotonic(), 0
        while True:
            await free.acquire()
            if asked >= PACE:
                await asyncio.sleep(max(begun + 1.0 - time.monotonic(), 0.0))
                begun, asked = time.monotonic(), 0
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:
                # Too many files are open in this process. It gets better, or everything else has failed as well.
                free.release()
                await asyncio.sleep(0.1)
                continue
            if time.monotonic() - begun >= 1.0:
                begun, asked = time.monotonic(), 0
            asked += 1
            task = asyncio.create_task(self._answer(connection))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)
            task.add_done_callback(lambda _: free.release())

    async def _answer(self, connection: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with connection:
            connection.settimeout(0)
            # Whoever leaves has no need of an answer; a box that its own raise closes is such a one.
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(PATIENCE):
                    line = await _line(connection)
                reply = await self._reply(line)
                async with asyncio.timeout(PATIENCE):
                    await loop.sock_sendall(connection, reply)

    async def _reply(self, line: bytes) -> bytes:
        try:
            wanted = read_request(line)
            if wanted is not None:
                await self._raise(wanted)
        except (ProtocolViolation, UsageError) as error:
            return refusing(error.message)
        except BasculeError as error:
            # What it says may name folders of this machine, which are nobody's business in there.
            _log.warning("%s could not raise a level: %s", self._server, error.message)
            return refusing("the level could not be kept")
        return telling(self._level_of(self._principal))

    async def _raise(self, wanted: Raise) -> None:
        check_dataset(wanted.dataset)
        level = wanted.level
        kept = self._kept.get(wanted.dataset)
        if kept is not None and kept >= level and self._level_of(self._principal) >= level:
            return
        if kept is None and len(self._kept) >= MOST_DATASETS:
            cause = Cause("dataset", self._server, reason="one of more than are kept by name")
            await self._raise_to(self._principal, level, cause)
            return
        await self._raise_to(self._principal, level, Cause("dataset", self._server, dataset=wanted.dataset))
        self._kept[wanted.dataset] = max(level, kept or level)


async def _line(connection: socket.socket) -> bytes:
    """Its first line. What is longer than any that means something is cut, and means nothing."""
    loop = asyncio.get_running_loop()
    data = b""
    while b"\n" not in data and len(data) < LONGEST:
        more = await loop.sock_recv(connection, LONGEST - len(data))
        if not more:
            break
        data += more
    return data.partition(b"\n")[0]


def _bound(path: Path) -> socket.socket:
    """Listening. Who may connect is up to the folder, which is ours alone: whoever is in the box is another user."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise OSError(None, "others may enter the folder in which it lies")
        with suppress(FileNotFoundError):
            os.unlink(path.name, dir_fd=folder)
        # By the folder's number: the kernel takes no path of a socket beyond 107 bytes.
        listening.bind(f"/proc/self/fd/{folder}/{path.name}")
        path.chmod(0o666)
        listening.listen(AT_ONCE)
        listening.settimeout(0)
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(folder)
    return listening


RaiseTo = Callable[[Principal, DataSensitivity, Cause], Awaitable[None]]


class RaiseProvision:
    """The sockets of all boxes of one runtime, each of one server in one agent session."""

    def __init__(self, folder: Path, level_of: Callable[[Principal], DataSensitivity], raise_to: RaiseTo) -> None:
        """`folder` is ours alone: who can enter it can raise anybody's level."""
        self._folder = folder
        self._level_of = level_of
        self._raise_to = raise_to
        self._numbers = count(1)
        self._open: dict[str, RaiseSocket] = {}

    async def before(self, engine: Engine, order: Order) -> Order:
        del engine
        if RAISE_SOCKET_VARIABLE not in order.command.env:
            return order
        path = self._folder / f"{next(self._numbers)}.sock"
        made = RaiseSocket(path, order.principal, order.server, self._level_of, self._raise_to)
        self._open[str(path)] = made
        # Told before it is open: whoever stops waiting for that closes it all the same.
        given = replace(order, sockets={**order.sockets, RAISE_SOCKET: str(path)})
        try:
            await made.open()
        except BaseException:
            await self.after(given)
            raise
        return given

    async def after(self, order: Order) -> None:
        made = self._open.pop(order.sockets.get(RAISE_SOCKET, ""), None)
        if made is not None:
            await made.close()
