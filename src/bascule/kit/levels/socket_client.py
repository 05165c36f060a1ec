"""Client of the runtime's level socket: a kit server in a sandbox reads and raises the sensitivity level of its
session."""

import asyncio
import socket
import struct
from pathlib import Path
from threading import Lock

from bascule.core.errors import BasculeError, ProtocolViolation, StoreError, UsageError
from bascule.core.principal import Principal
from bascule.core.sensitivity import DataSensitivity
from bascule.wire.level_protocol import LONGEST, asking, raising, read_reply

PATIENCE = 30.0
"""Seconds for an answer. A raise waits until it is on disk, and nobody writes to a wider lane any more."""


class SocketLevels:
    """The level of the one agent session that this process serves. Nothing of it is kept here, so a socket that cannot
    be reached is as a store that cannot be read: an error, and never a level. May be asked from any thread."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._lock = Lock()
        self._principal: Principal | None = None
        self._level: DataSensitivity | None = None
        self._answers = 0
        """How many have come so far."""
        self._told = 0
        """Which of them has told the level."""

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
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            # By the kernel's clock: Python's would give up at once where others stand in line.
            limit = struct.pack("@ll", int(PATIENCE), int(PATIENCE % 1 * 1_000_000))
            for each in (socket.SO_SNDTIMEO, socket.SO_RCVTIMEO):
                connection.setsockopt(socket.SOL_SOCKET, each, limit)
            connection.connect(self._path)
            connection.sendall(line)
            data = b""
            while not data.endswith(b"\n") and len(data) < LONGEST:
                more = connection.recv(LONGEST)
                if not more:
                    break
                data += more
            return data


def _unreachable(evidence: str) -> StoreError:
    return StoreError(
        "how private this agent session is cannot be told in this box",
        evidence=evidence,
        cause="whoever made the box has ended, or keeps no levels",
        fix="run `bascule doctor` outside of the box; nothing private is given out until then",
    )
