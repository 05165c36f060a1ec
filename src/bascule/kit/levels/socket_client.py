"""Client of the runtime's level socket: a kit server in a sandbox reads and raises the sensitivity level of its
session, over a connection that it inherits."""

import asyncio
import os
import re
import socket
import struct
from collections.abc import Generator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from bascule.config.state_dir import RAISE_DESCRIPTOR_VARIABLE, RAISE_SOCKET_VARIABLE
from bascule.core.errors import BasculeError, ProtocolViolation, StoreError, UsageError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.wire.level_protocol import LONGEST, asking, raising, read_reply

PATIENCE = 30.0
"""Seconds for an answer. A raise waits until it is on disk, and nobody writes to a wider lane any more."""


class SocketLevels:
    """The level of the one agent session that this process serves. Nothing of it is kept here, so a socket that cannot
    be reached is as a store that cannot be read: an error, and never a level. May be asked from any thread."""

    def __init__(self, path: str, descriptor: int | None = None) -> None:
        """`descriptor` is an inherited connection to the runtime. Without one, each request connects to `path`, as
        runtimes of version 0.1.0 want it."""
        self._path = path
        self._descriptor = descriptor
        if descriptor is not None:
            # Programs that the server starts do not raise levels.
            with suppress(OSError):
                os.set_inheritable(descriptor, False)  # noqa: FBT003
        self._lock = Lock()
        self._principal: Principal | None = None
        self._level: DataSensitivity | None = None
        self._answers = 0
        """How many have come so far."""
        self._told = 0
        """Which of them has told the level."""

    @classmethod
    def named_in(cls, environ: Mapping[str, str]) -> "SocketLevels | None":
        """The level socket that the environment names, if the server runs in a sandbox. A descriptor that is no number
        leaves none that could be read."""
        path, descriptor = environ.get(RAISE_SOCKET_VARIABLE), environ.get(RAISE_DESCRIPTOR_VARIABLE)
        if descriptor is not None:
            return cls(path or "", int(descriptor) if re.fullmatch("[0-9]{1,4}", descriptor) else -1)
        return None if path is None else cls(path)

    def seen(self, principal: Principal) -> DataSensitivity | None:
        """The level as it was when it was last asked for. None, if that was never, or is somebody else's."""
        return self._level if principal == self._principal else None

    async def look(self, principal: Principal) -> DataSensitivity:
        """The level as it is now. Raises `StoreError`."""
        return await asyncio.to_thread(self._ask, principal, asking())

    def look_now(self, principal: Principal) -> DataSensitivity:
        return self._ask(principal, asking())

    def add(self, principal: Principal, dataset: str, sensitivity: DataSensitivity) -> None:
        """Have it kept that a private dataset was seen. Durable when this returns. Raises `StoreError`."""
        if self._ask(principal, raising(dataset, sensitivity)) < sensitivity:
            raise _unreachable("the level did not rise")

    def close(self) -> None:
        """Nothing is held."""

    def move(self, folder: Path) -> None:
        raise UsageError(
            f"this server runs in a box, so its levels are not kept in {folder}",
            fix="test a server where it is written, and not in a box",
        )

    def _ask(self, principal: Principal, line: bytes) -> DataSensitivity:
        with self._lock:
            # The socket is that of one agent session: nobody else may be told its level, or raise it.
            if self._principal is None:
                self._principal = principal
            elif self._principal != principal:
                raise _unreachable("this process serves another agent session")
            begun = self._answers
        try:
            level = read_reply(self._exchange(line))
        except (OSError, ProtocolViolation) as error:
            raise _unreachable(error.message if isinstance(error, BasculeError) else str(error)) from error
        with self._lock:
            self._answers += 1
            # Answers may overtake each other. What was asked before the level rose must not hide that it did.
            if self._level is None or level >= self._level or begun >= self._told:
                self._level, self._told = level, self._answers
        return level

    def _exchange(self, line: bytes) -> bytes:
        with self._connection() as connection:
            connection.sendall(line)
            data = b""
            while not data.endswith(b"\n") and len(data) < LONGEST:
                more = connection.recv(LONGEST)
                if not more:
                    break
                data += more
            return data

    @contextmanager
    def _connection(self) -> Generator[socket.socket]:
        """A connection for one request."""
        if self._descriptor is None:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
                _limit(connection)
                connection.connect(self._path)
                yield connection
            return
        ours, theirs = socket.socketpair()
        with ours:
            with theirs, socket.socket(fileno=os.dup(self._descriptor)) as inherited:
                _limit(inherited)
                socket.send_fds(inherited, [b"\n"], [theirs.fileno()])
            _limit(ours)
            yield ours


def _limit(connection: socket.socket) -> None:
    """Sets the timeout by the kernel's clock: Python's would give up at once where others stand in line."""
    limit = struct.pack("@ll", int(PATIENCE), int(PATIENCE % 1 * 1_000_000))
    for each in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
        connection.setsockopt(socket.SOL_SOCKET, each, limit)


def _unreachable(evidence: str) -> StoreError:
    return StoreError(
        "how private this agent session is cannot be told in this box",
        evidence=evidence,
        cause="whoever made the box has ended, or keeps no levels",
        fix="run `bascule doctor` outside of the box; nothing private is given out until then",
    )
