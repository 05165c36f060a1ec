"""Log of each server's stderr and link states, one file per server. No call waits for the disk."""

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from bascule.core.events import LinkChanged
from bascule.core.principal import Principal
from bascule.records.server_logs.file import LogLine, append, log_path, make_private, write_line

FLUSH_AFTER = 0.25
"""Seconds for which lines are gathered before they are written. A chatty server costs a few writes, not thousands."""

MOST_HELD = 512 * 1024
"""Bytes of one server's lines that wait to be written. A disk that hangs must not make us hold all that is said."""

_log = logging.getLogger("bascule.records")


class ServerLog:
    """The logs of one runtime's servers. What comes while it is not open is let go."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._folder: Path | None = None
        self._held: dict[str, bytearray] = {}
        self._left_out: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None
        self._complained = False

    def open(self, folder: Path) -> None:
        """Keep what comes from now on in this folder. Nothing is made before there is something to keep."""
        self._folder = folder

    def path(self, server: str) -> Path | None:
        """Where what one server says is kept. None while it is not open."""
        return log_path(self._folder, server) if self._folder is not None else None

    def said(self, server: str, principal: Principal, pid: int, line: str) -> None:
        self._keep(server, LogLine(self._clock(), "stderr", principal.user_id, principal.session_id, line, pid))

    def note(self, event: LinkChanged) -> None:
        who = event.principal
        line = LogLine(event.at, "link", who.user_id, who.session_id, event.reason, state=event.state)
        self._keep(event.server, line)

    async def close(self) -> None:
        """Write all that is held."""
        while self._folder is not None and (self._held or self._writing is not None):
            self._flush()
            if self._writing is not None:
                await asyncio.shield(self._writing)
        self._stop_timer()
        self._folder = None

    def _keep(self, server: str, line: LogLine) -> None:
        if self._folder is None:
            return
        held = self._held.setdefault(server, bytearray())
        data = write_line(line)
        if len(held) + len(data) > MOST_HELD:
            self._left_out[server] = self._left_out.get(server, 0) + 1
        else:
            held += data
        self._start_timer()

    def _start_timer(self) -> None:
        if self._timer is None and self._writing is None:
            self._timer = asyncio.get_running_loop().call_later(FLUSH_AFTER, self._flush)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _flush(self) -> None:
        self._stop_timer()
        if self._held and self._writing is None and self._folder is not None:
            self._writing = asyncio.create_task(self._write_held(self._folder), name="server log")

    async def _write_held(self, folder: Path) -> None:
        held, self._held = self._held, {}
        left_out, self._left_out = self._left_out, {}
        for server, count in left_out.items():
            told = f"… {count} lines left out: they came faster than they could be written"
            held[server] += write_line(LogLine(self._clock(), "note", "", "", told))
        try:
            await asyncio.to_thread(self._write, folder, held)
        finally:
            self._writing = None
            if self._held:
                self._start_timer()

    def _write(self, folder: Path, held: dict[str, bytearray]) -> None:
        try:
            make_private(folder)
            for server, data in held.items():
                append(log_path(folder, server), bytes(data))
        except OSError as error:
            # A log that cannot be kept is no reason to fail what it only watches.
            if not self._complained:
                self._complained = True
                _log.warning("the logs of servers cannot be kept in %s: %s", folder, error)
