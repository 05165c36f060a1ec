"""Command that is run to its end, with empty stdin; the last 64 KiB of its output are kept."""

import asyncio
from dataclasses import dataclass

from bascule.core.errors import SandboxError
from bascule.sandbox.process.child import Command, Pipes, spawn
from bascule.sandbox.spec.engine import Ended

KEPT = 64 * 1024
"""Bytes of its last words."""


class _Output(asyncio.Protocol):
    """One end of its words. Both go to the same place."""

    def __init__(self, words: bytearray) -> None:
        self._words = words
        self.ended = asyncio.get_running_loop().create_future()

    def data_received(self, data: bytes) -> None:
        self._words += data
        del self._words[:-KEPT]

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 -- the loop's own words
        if not self.ended.done():
            self.ended.set_result(None)


@dataclass(frozen=True, slots=True)
class Heard:
    """How it ended, and the end of what it said, each way by itself."""

    code: int
    out: bytes
    err: bytes


async def ran(command: Command, timeout: float) -> Ended:
    """Run it. Raises `SandboxError` where it cannot be started, or takes longer."""
    words = bytearray()
    code = await _run(command, timeout, words, words)
    return Ended(code, bytes(words).decode("utf-8", "replace"))


async def heard(command: Command, timeout: float) -> Heard:
    """The same for one whose words are meant for us, and may be secret: of a late one nothing but errors is told."""
    out, err = bytearray(), bytearray()
    code = await _run(command, timeout, out, err)
    return Heard(code, bytes(out), bytes(err))


async def _run(command: Command, timeout: float, out: bytearray, err: bytearray) -> int:
    outputs = _Output(out), _Output(err)
    child = await spawn(command, Pipes(asyncio.BaseProtocol(), *outputs))
    try:
        child.cut()
        async with asyncio.timeout(timeout):
            code = await child.exited
            # What it said last may still be on its way.
            await asyncio.gather(*(output.ended for output in outputs))
    except TimeoutError:
        raise SandboxError(
            f"it took longer than {timeout:g} s", evidence=bytes(err).decode("utf-8", "replace")
        ) from None
    finally:
        await asyncio.shield(child.close(0.0))
    return code
