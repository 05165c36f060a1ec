"""Confirmation prompt on the terminal, for approvals and for commands without a way back. The event loop reads the
answer: a thread that waits for a closed terminal could not be ended."""

import asyncio
import os
import termios
from typing import TextIO

from bascule.cli.output.errors import json_line, legible
from bascule.cli.output.progress import asking
from bascule.core.client_features import Approval
from bascule.runtime.approvals.ask import LONGEST_WAIT

YES = frozenset({"y", "yes"})

MOST_SHOWN = 10_000
"""Characters of arguments that are shown. More would push what is asked about off the screen."""


def consent_at_the_terminal(reading: TextIO, writing: TextIO) -> "Consent | None":
    """Who can be asked, or None where input or output is not a terminal."""
    return Consent(reading, writing) if reading.isatty() and writing.isatty() else None


class Consent:
    """Asks on one stream and reads from another. Nobody's words can move the cursor."""

    def __init__(self, reading: TextIO, writing: TextIO) -> None:
        self._reading = reading
        self._writing = writing

    async def agrees(self, words: str) -> bool:
        """Whether the answer is yes. Anything else is a no, the end of all input too."""
        # What was typed before the question could be read is no answer to it.
        termios.tcflush(self._reading.fileno(), termios.TCIFLUSH)
        with asking():
            self._say(f"{words} [y/N] ")
            try:
                return (await self._line()).strip().lower() in YES
            except asyncio.CancelledError:
                self._say("\n")
                raise

    async def approve(self, approval: Approval) -> bool:
        """Show a call that waits for a person, and ask for their word."""
        self._say(in_full(approval))
        return await self.agrees(f"Let {approval.server}/{approval.tool} go on?")

    def _say(self, words: str) -> None:
        self._writing.write(legible(words))
        self._writing.flush()

    async def _line(self) -> str:
        loop = asyncio.get_running_loop()
        line: asyncio.Future[str] = loop.create_future()
        descriptor, typed = self._reading.fileno(), bytearray()

        def hear() -> None:
            try:
                data = os.read(descriptor, 1024)
            except OSError:
                data = b""  # the terminal is gone, and whoever sat there
            typed.extend(data)
            if (not data or b"\n" in data) and not line.done():
                line.set_result(typed.decode(errors="replace"))

        loop.add_reader(descriptor, hear)
        try:
            return await line
        finally:
            loop.remove_reader(descriptor)


def in_full(approval: Approval) -> str:
    """A call as the person has to see it. The arguments are JSON, in which nothing hides and no line can be forged."""
    arguments = json_line(approval.arguments)
    left_out = len(arguments) - MOST_SHOWN
    more = f"\n    … and {left_out} more characters that are NOT SHOWN" if left_out > 0 else ""
    return (
        f"\n{approval.name} waits for a person to agree, for at most {LONGEST_WAIT:g} s\n"
        f"  server:     {approval.server}\n"
        f"  tool:       {approval.tool}\n"
        f"  on behalf:  {approval.principal}\n"
        f"  arguments:  {arguments[:MOST_SHOWN]}{more}\n"
    )
