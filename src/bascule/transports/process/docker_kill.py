"""Kill of a server in a container, and of its child processes. An engine can start a process and cannot end one: the
server's environment has a mark that children inherit, and a second exec kills every process with it."""

import asyncio
import os
import signal
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from bascule.core.errors import ConnectFailed
from bascule.sandbox.docker.api import Engine, EngineRefused, RunState, started
from bascule.sandbox.docker.attach import listening_to
from bascule.sandbox.spec.engine import Run

MARK = "BASCULE_RUN"
"""The variable that tells the processes of one link from those of all others in the container."""

PAUSE = 0.02
"""Seconds between two looks at something that is about to start or end. The engine tells nobody by itself."""

SWEEPS = 5
"""Times we look again for what was started while the last of it was being ended."""

SWEEP_WITHIN = 5.0
"""Seconds for the second process. It reads a file of each process in the container."""

_SWEEP = """
carriers=
if command -v grep >/dev/null 2>&1; then
    carriers=$(grep -lF -e "$1" /proc/[0-9]*/environ 2>/dev/null)
else
    for each in /proc/[0-9]*/environ; do
        case "$(cat "$each" 2>/dev/null)" in *"$1"*) carriers="$carriers $each" ;; esac
    done
fi
found=none
for each in $carriers; do
    each=${each#/proc/}
    kill "-$2" "${each%/environ}" 2>/dev/null && found=some
done
echo "swept $found"
"""
"""One process reads them all, where there is one that can. Else each takes a process of its own."""

SOME, NONE = "swept some", "swept none"
"""What the second process says. Its exit code would do, if every engine told that in time."""


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
        try:
            if not await self._ends_by_itself(grace * 0.4):
                await self._sweep(signal.SIGTERM)
                await self._ends_by_itself(grace * 0.4)
            await self.sweep_up()
        except EngineRefused:
            return  # the container is gone, or does not run: nothing of ours is left
        except ConnectFailed:
            # An engine that comes back may find its containers as they were, and the server with them.
            if not await asyncio.to_thread(strike_all, self.mark, signal.SIGKILL):
                _LEFT[self.engine.socket, self.container].add(self.mark)

    async def _ends_by_itself(self, seconds: float) -> bool:
        try:
            return await self.ended_within(seconds) is not None
        except EngineRefused:
            # It was restarted, and no longer knows what it ran before. The mark is still there.
            return False

    async def sweep_up(self) -> None:
        """Kill it, and what it has started, until there is nothing more to be found."""
        for _ in range(SWEEPS):
            if not await self._sweep(signal.SIGKILL):
                return

    async def _sweep(self, number: signal.Signals) -> bool:
        """Send a signal to all that carry the mark. Whether there were any."""
        argv = ("sh", "-c", _SWEEP, "sh", f"{MARK}={self.mark}", number.name.removeprefix("SIG"))
        sweep = await self.engine.prepare(Run(self.container, argv))
        said = ""
        with suppress(ConnectFailed, TimeoutError):
            async with asyncio.timeout(SWEEP_WITHIN), listening_to(self.engine, *started(sweep)) as ear:
                await ear.to_the_end()
                said = ear.text
        if said not in {SOME, NONE}:
            # A container without a shell: the same from outside, as far as what the engine runs is to be seen there.
            return await asyncio.to_thread(strike_all, self.mark, number)
        return said == SOME


_LEFT = defaultdict[tuple[str, str], set[str]](set)
"""Marks of servers that could not be ended because their engine was gone, by its socket and the container."""


async def sweep_what_was_left(engine: Engine, container: str) -> None:
    """End what was left in a container when its engine went. For who is about to run something there again."""
    for mark in _LEFT.pop((engine.socket, container), ()):
        with suppress(ConnectFailed):
            await Ending(engine, container, "", mark).sweep_up()


def strike_all(mark: str, number: signal.Signals) -> bool:
    """Send a signal to whatever carries this mark on this machine, as far as we see it and have the right. Whether
    anything did."""
    struck = False
    for path in Path("/proc").iterdir():
        with suppress(OSError):
            if path.name.isdigit() and carries(int(path.name), mark):
                os.kill(int(path.name), number)
                struck = True
    return struck


def carries(pid: int, mark: str) -> bool:
    """Whether a process on this machine has this mark. Raises `OSError` if there is none, or it is not ours to see."""
    return f"{MARK}={mark}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
