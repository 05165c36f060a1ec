"""The command with a person before it: a terminal on which it asks, and somebody who answers once they have read."""

import asyncio
import codecs
import os
import termios
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from support import warm
from support.command import environment
from support.waiting import fail_after


class AtATerminal:
    """A command at work. Its stdout goes to a pipe, so that `shown` is what the person reads."""

    def __init__(self, process: asyncio.subprocess.Process, terminal: int) -> None:
        self.process = process
        self.shown = ""
        self._terminal = terminal
        # What is read at once may end within a character.
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._came = asyncio.Event()
        asyncio.get_running_loop().add_reader(terminal, self._read)

    def _read(self) -> None:
        try:
            data = os.read(self._terminal, 65536)
        except OSError:
            data = b""  # the last one on the other side has gone
        if not data:
            self.stop_reading()
        self.shown += self._decoder.decode(data)
        self._came.set()

    def stop_reading(self) -> None:
        asyncio.get_running_loop().remove_reader(self._terminal)

    async def until(self, words: str) -> None:
        async with fail_after(60, f"the terminal showing {words!r}, after {self.shown!r}"):
            while words not in self.shown:
                self._came.clear()
                await self._came.wait()

    def type(self, words: str) -> None:
        os.write(self._terminal, words.encode())

    async def end(self) -> tuple[int, str]:
        """Its exit code, and what it printed."""
        async with fail_after(60, "the end of the command"):
            out, _ = await self.process.communicate()
        assert self.process.returncode is not None
        return self.process.returncode, (out or b"").decode()


@asynccontextmanager
async def at_a_terminal(
    folder: Path,
    *argv: str,
    program: str | Path | None = None,
    env: Mapping[str, str] | None = None,
    columns: int = 80,
    out: bool = False,
) -> AsyncGenerator[AtATerminal]:
    """The command, or another program, while it runs. It is ended on leaving, if it has not ended by itself. With `out`, its
    stdout is the terminal too."""
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
    try:
        process = await asyncio.create_subprocess_exec(
            program or warm.bascule(),
            *argv,
            cwd=folder,
            env=environment(folder, env),
            stdin=theirs,
            stderr=theirs,
            stdout=theirs if out else asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    finally:
        os.close(theirs)
    made = AtATerminal(process, ours)
    try:
        yield made
    finally:
        made.stop_reading()
        os.close(ours)
        if process.returncode is None:
            process.terminate()
            await process.wait()
