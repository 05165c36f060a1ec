"""The end of a server in a container, and of all that it has started there.

An engine can start a process in a container and cannot end one. So each server carries a mark in its environment, which
what it starts inherits, and a second process in the container ends whatever carries it.
"""

import asyncio
import os
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bascule.core.errors import ConnectFailed
from bascule.sandbox.docker.engine import Engine, Run, RunState

MARK = "BASCULE_RUN"
"""The variable that tells the processes of one link from those of all others in the container."""

PAUSE = 0.02
"""Seconds between two looks at something that is about to start or end. The engine tells nobody by itself."""

SWEEPS = 5
"""Times we look again for what was started while the last of it was being ended."""

SWEEP_WITHIN = 5.0
"""Seconds for the second process. It reads a file of each process in the container."""

FOUND = 3
"""What the second process exits with if there was something to end."""

_SWEEP = """
found=0
for each in /proc/[0-9]*; do
    case "$(cat "$each/environ" 2>/dev/null)" in
        *"$1"*) kill "-$2" "${each#/proc/}" 2>/dev/null && found=3 ;;
    esac
done
exit $found
"""


@dataclass(frozen=True, slots=True)
class Ending:
    """One server that runs in a container, and what is needed to end it."""

    engine: Engine
    container: str
    run_id: str
    mark: str
    """The value of `MARK` that it carries. Nobody can foresee it."""

    async def ended_within(self, seconds: float) -> RunState | None:
        """How it ended, if it did in time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while True:
                    state = await self.engine.look(self.run_id)
                    if state.ended:
                        return state
                    await asyncio.sleep(PAUSE)
        return None

    async def bring_about(self, grace: float) -> None:
        """End it, whose input has ended: by itself, then by TERM, then by KILL. What it has started ends with it."""
        # Whatever is gone by now, container or engine, has nothing of ours left, or nothing that we can reach.
        with suppress(ConnectFailed):
            if await self.ended_within(grace * 0.4) is None:
                await self._sweep(signal.SIGTERM)
                await self.ended_within(grace * 0.4)
            for _ in range(SWEEPS):
                if not await self._sweep(signal.SIGKILL):
                    return

    async def _sweep(self, number: signal.Signals) -> bool:
        """Send a signal to all that carry the mark. Whether there were any."""
        argv = ("sh", "-c", _SWEEP, "sh", f"{MARK}={self.mark}", number.name.removeprefix("SIG"))
        sweep = await self.engine.prepare(Run(self.container, argv), attached=False)
        ending = Ending(self.engine, self.container, sweep, "")
        try:
            await self.engine.start_unheard(sweep)
            state = await ending.ended_within(SWEEP_WITHIN)
        except ConnectFailed:
            state = None
        if state is None or state.code not in {0, FOUND}:
            return await self._strike(number)
        return state.code == FOUND

    async def _strike(self, number: signal.Signals) -> bool:
        """The same from outside, for a container that has no shell. It reaches the server alone, and only if what the
        engine runs is to be seen from here and we have the right."""
        pid = (await self.engine.look(self.run_id)).pid
        with suppress(OSError):
            # The number may be that of another process: a later one, or one of another machine than the engine's.
            if pid > 0 and carries(pid, self.mark):
                os.kill(pid, number)
                return True
        return False


def carries(pid: int, mark: str) -> bool:
    """Whether a process on this machine has this mark. Raises `OSError` if there is none, or it is not ours to see."""
    return f"{MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
