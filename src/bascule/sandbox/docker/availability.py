"""Availability check of a container engine for sandboxes: it answers, is recent enough, and shares the host's
kernel."""

import os
import sys
import time
from dataclasses import dataclass

from bascule.core.errors import ConnectFailed
from bascule.core.json_types import JsonObject, as_array
from bascule.sandbox.docker.api import Engine

OLDEST = (1, 40)
"""Of the API: what Docker has from 19.03 on."""

KEPT = 5.0
"""Seconds for which an answer holds. Each box asks, and ten may be wanted at once."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of an engine."""

    why_not: str = ""
    """In a sentence, why there can be no box. Empty: there can."""
    remapped: bool = False
    """Whether users in its containers are other ones outside, unless it is told otherwise."""


class Standings:
    """Asks one engine, and remembers the answer for a while."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._known: tuple[float, Standing] | None = None

    async def now(self) -> Standing:
        if self._known is None or time.monotonic() - self._known[0] > KEPT:
            known = await self._ask()
            # That there is a reason against it holds for no time at all: an engine that was restarted is used at once.
            self._known = (time.monotonic(), known) if not known.why_not else None
            return known
        return self._known[1]

    async def _ask(self) -> Standing:
        if sys.platform != "linux":
            return Standing("boxes are made with an engine that runs on the same Linux as we do")
        try:
            version, info = await self._engine.ask("GET", "/version"), await self._engine.ask("GET", "/info")
        except ConnectFailed as error:
            return Standing(": ".join(part for part in (error.message, error.cause or error.evidence) if part))
        return standing_of(version, info, os.uname().release)


def standing_of(version: JsonObject, info: JsonObject, kernel: str) -> Standing:
    """What an engine's own words mean for us, who run on this kernel."""
    api = str(version.get("ApiVersion", ""))
    options = {str(option).partition(",")[0] for option in as_array(info.get("SecurityOptions"))}
    if any("Podman" in str(part) for part in as_array(version.get("Components"))):
        return Standing("it is podman, which does not take all that a box is asked for, such as a bound on its files")
    if _numbers(api) < OLDEST:
        return Standing(f"its API is {api or 'unknown'}, and {'.'.join(map(str, OLDEST))} is needed")
    if str(info.get("OSType", "linux")) != "linux" or info.get("KernelVersion") != kernel:
        return Standing(
            "it runs on another machine, or in a virtual one: folders of this machine cannot be shown there"
        )
    if "name=seccomp" not in options:
        return Standing("it cannot restrict system calls (seccomp)")
    if "name=rootless" in options:
        return Standing("it is rootless: who writes to a workspace inside would be nobody outside")
    return Standing(remapped="name=userns" in options)


def _numbers(version: str) -> tuple[int, ...]:
    parts = version.split(".")
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()
