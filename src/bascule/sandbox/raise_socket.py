"""Level socket for a kit server in a sandbox, and the provision that gives each sandbox its own. Through it the server
can read the sensitivity level of its agent session and raise it, and nothing else.

The entry program of the sandbox connects to it, and the server inherits the connection: in private lanes it could not
open one. For each request the server sends one end of a new socket pair over it (`SCM_RIGHTS`), and gets the answer
there. The socket answers reads itself. Requests to raise come up in a queue, from which the runtime takes them."""

import asyncio
import logging
import os
import socket
import stat
import time
from collections.abc import Coroutine
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Any

from bascule.config.state_dir import RAISE_SOCKET_VARIABLE
from bascule.core.errors import BasculeError, ProtocolViolation, SandboxError, UsageError
from bascule.core.principal import Principal
from bascule.core.receipt import Cause
from bascule.core.sensitivity import DataSensitivity
from bascule.sandbox.spec.box import RAISE_SOCKET
from bascule.sandbox.spec.engine import Engine
from bascule.sandbox.spec.launch_request import Order
from bascule.sensitivity.private_data import check_dataset
from bascule.sensitivity.ratchet import Ratchets
from bascule.wire.level_protocol import LONGEST, Raise, read_request, refusing, telling

AT_ONCE = 8
"""Requests of one server that are answered at the same time, and connections of its that are read. More wait in the
kernel's backlog."""

PACE = 200
"""Requests of one server in a second. A kit server reads the level before each call that connects; one that sends more
would keep the event loop busy."""

PATIENCE = 5.0
"""Seconds for a server to send its line, and to read the answer."""

MOST_DATASETS = 1000
"""Names of datasets that are kept for one server and agent session. Further datasets raise the level without a name."""

_log = logging.getLogger("bascule.runtime")


@dataclass(frozen=True, slots=True)
class RaiseRequest:
    """Request of a server in a sandbox to raise its agent session to at least this level."""

    principal: Principal
    level: DataSensitivity
    cause: Cause
    done: asyncio.Future[None]
    """Ends when the level is durable and nothing is written to a wider lane any more, or with the reason why not."""

    def settle(self, raised: asyncio.Task[None]) -> None:
        """Ends the request as the task ended that raises the level. A server that has left reads no answer."""
        error = None if raised.cancelled() else raised.exception()
        if self.done.done():
            return
        if raised.cancelled():
            self.done.cancel()
        elif error is not None:
            self.done.set_exception(error)
        else:
            self.done.set_result(None)


class RaiseSocket:
    """The socket of one server in one agent session. Each request has a connection of its own, which was passed over
    the inherited one; a kit server of version 0.1.0 opens it at the path."""

    def __init__(
        self,
        path: Path,
        principal: Principal,
        server: str,
        ratchets: Ratchets,
        requests: asyncio.Queue[RaiseRequest],
    ) -> None:
        self.path = path
        self._principal = principal
        self._server = server
        self._ratchets = ratchets
        self._requests = requests
        self._kept: dict[str, DataSensitivity] = {}
        self._listening: socket.socket | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._inherited = False
        """Set while the connection that the server inherited is open."""
        self._free = asyncio.Semaphore(AT_ONCE)
        self._second = time.monotonic()
        self._in_second = 0

    async def open(self) -> None:
        """Listens from here on. Raises `SandboxError`."""
        try:
            self._listening = _bound(self.path)
        except OSError as error:
            raise SandboxError(
                f"{self._server} cannot be given a socket to raise levels through",
                where=str(self.path),
                evidence=error.strerror or str(error),
                fix="let the state folder be one that only you can read and write, on a disk that has room",
            ) from error
        self._begin(self._serve(self._listening))

    async def close(self) -> None:
        """Stops to answer. The runtime still carries out a raise that was requested. Idempotent."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        if self._listening is not None:
            self._listening.close()
            self._listening = None
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name="raise socket")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _serve(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        free = asyncio.Semaphore(AT_ONCE)
        while True:
            await free.acquire()
            try:
                connection, _ = await loop.sock_accept(listening)
            except OSError:
                # Too many files are open in this process. Files are closed again, or everything else has failed too.
                free.release()
                await asyncio.sleep(0.1)
                continue
            self._begin(self._read(connection)).add_done_callback(lambda _: free.release())

    async def _read(self, connection: socket.socket) -> None:
        """Takes requests from a connection until the server closes it. The inherited one may be idle: it is the oldest,
        since the entry program connects before the server runs."""
        inherited, self._inherited = not self._inherited, True
        try:
            with connection, suppress(OSError, TimeoutError):
                connection.settimeout(0)
                while True:
                    async with asyncio.timeout(None if inherited else PATIENCE):
                        data, descriptors = await _received(connection)
                    if not data:
                        return
                    await self._turn()
                    if not descriptors:
                        await self._answer(connection.dup(), data)
                        return
                    self._begin(self._answer(_unix_stream(descriptors[0])))
        finally:
            if inherited:
                self._inherited = False

    async def _turn(self) -> None:
        """Waits until one more request may be answered."""
        await self._free.acquire()
        now = time.monotonic()
        if now - self._second >= 1.0:
            self._second, self._in_second = now, 0
        self._in_second += 1
        if self._in_second > PACE:
            await asyncio.sleep(self._second + 1.0 - now)

    async def _answer(self, connection: socket.socket | None, begun: bytes = b"") -> None:
        loop = asyncio.get_running_loop()
        try:
            if connection is None:
                return
            with connection, suppress(OSError, TimeoutError):
                # A client that has closed its end reads no answer. A raise closes the sandbox that requested it.
                connection.settimeout(0)
                async with asyncio.timeout(PATIENCE):
                    line = await _line(connection, begun)
                reply = await self._reply(line)
                async with asyncio.timeout(PATIENCE):
                    await loop.sock_sendall(connection, reply)
        finally:
            self._free.release()

    async def _reply(self, line: bytes) -> bytes:
        try:
            wanted = read_request(line)
            if wanted is not None:
                await self._raise(wanted)
        except (ProtocolViolation, UsageError) as error:
            return refusing(error.message)
        except BasculeError as error:
            # The message may name folders of this machine, which a sandbox must not learn.
            _log.warning("%s could not raise a level: %s", self._server, error.message)
            return refusing("the level could not be kept")
        return telling(self._level)

    @property
    def _level(self) -> DataSensitivity:
        return self._ratchets.of(self._principal).level

    async def _raise(self, wanted: Raise) -> None:
        check_dataset(wanted.dataset)
        level = wanted.level
        kept = self._kept.get(wanted.dataset)
        if kept is not None and kept >= level and self._level >= level:
            return
        if kept is None and len(self._kept) >= MOST_DATASETS:
            await self._request(level, Cause("dataset", self._server, reason="one of more than are kept by name"))
            return
        await self._request(level, Cause("dataset", self._server, dataset=wanted.dataset))
        self._kept[wanted.dataset] = max(level, kept or level)

    async def _request(self, level: DataSensitivity, cause: Cause) -> None:
        done = asyncio.get_running_loop().create_future()
        self._requests.put_nowait(RaiseRequest(self._principal, level, cause, done))
        await done


async def _line(connection: socket.socket, data: bytes) -> bytes:
    """The first line that a server sends, of which `data` has come. A line longer than any valid request is cut, and
    so is rejected."""
    loop = asyncio.get_running_loop()
    while b"\n" not in data and len(data) < LONGEST:
        more = await loop.sock_recv(connection, LONGEST - len(data))
        if not more:
            break
        data += more
    return data.partition(b"\n")[0]


async def _received(connection: socket.socket) -> tuple[bytes, list[int]]:
    """The next bytes, and at most one file descriptor that came with them."""
    while True:
        try:
            data, descriptors, _, _ = socket.recv_fds(connection, LONGEST, 1, socket.MSG_CMSG_CLOEXEC)
        except BlockingIOError:
            await _readable(connection)
        else:
            return data, descriptors


async def _readable(connection: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    readable = loop.create_future()
    loop.add_reader(connection, lambda: readable.done() or readable.set_result(None))
    try:
        await readable
    finally:
        loop.remove_reader(connection)


def _unix_stream(descriptor: int) -> socket.socket | None:
    """The connection at a file descriptor that a server has sent. Closes anything else, since it could block a read."""
    try:
        passed = socket.socket(fileno=descriptor)
    except OSError:
        os.close(descriptor)
        return None
    if (passed.family, passed.type) == (socket.AF_UNIX, socket.SOCK_STREAM):
        return passed
    passed.close()
    return None


def _bound(path: Path) -> socket.socket:
    """A listening socket. Its folder, which no other user may enter, decides on access. The server in a sandbox is
    another user, so the socket itself is writable for all."""
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


class RaiseProvision:
    """The raise sockets of one runtime: one for each sandbox of a kit server."""

    def __init__(self, folder: Path, ratchets: Ratchets) -> None:
        """`folder` must be closed to other users: a process that enters it can raise the level of any agent session."""
        self._folder = folder
        self._ratchets = ratchets
        self.requests: asyncio.Queue[RaiseRequest] = asyncio.Queue()
        """Requests to raise a level, from all sockets. They wait until they are taken from here."""
        self._numbers = count(1)
        self._open: dict[str, RaiseSocket] = {}

    async def before(self, engine: Engine, order: Order) -> Order:
        del engine
        if RAISE_SOCKET_VARIABLE not in order.command.env:
            return order
        path = self._folder / f"{next(self._numbers)}.sock"
        made = RaiseSocket(path, order.principal, order.server, self._ratchets, self.requests)
        self._open[str(path)] = made
        # Known before it is open, so that it is closed if the caller stops waiting.
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
