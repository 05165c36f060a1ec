"""Header command: a program of the operator that prints HTTP headers for one principal, such as a token from a vault.
The headers stay in memory, and are masked wherever text is shown."""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from math import isfinite
from typing import Any

import msgspec

from bascule.config.model.runtime_config import ServerConfig
from bascule.config.validation import header_flaws
from bascule.core.errors import ConnectFailed, LoginNeeded, SandboxError
from bascule.core.json_types import JsonObject, is_array, is_object
from bascule.core.principal import Principal
from bascule.core.request import Permit
from bascule.core.text.redaction import Mask
from bascule.identity.oauth.challenge import Challenge
from bascule.sandbox.process.child import Command
from bascule.sandbox.process.environment import child_environment
from bascule.sandbox.spec.run_command import KEPT, Heard, heard

WITHIN = 15.0
"""Seconds that the program may take. A vault answers in one; a person who is asked for a password is not waited for."""

GOOD_FOR = 300.0
"""Seconds for which headers are used that do not say how long they are good."""

LONGEST = 24 * 3600.0
"""Seconds after which they are printed anew, whatever they say."""

HINT = "expires_in"
"""Beside the headers: for how many seconds they are good."""

AGAIN_AFTER = 1.0
"""Seconds within which headers without an `Authorization` count as printed anew since they were refused."""

MOST_KEPT = 1000
"""Principals and servers whose headers are kept. The ones that were asked for longest ago are printed anew."""

SHOWN = 500
"""Characters of its last words that are told."""


class PrintedHeaders:
    """The headers of one principal for one server."""

    def __init__(
        self, server: ServerConfig, command: Command, mask: Mask, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._server = server.name
        self._command = command
        self._mask = mask
        self._clock = clock
        self._turn = asyncio.Lock()
        self._authorization = ""
        self._printed_at = self._good_until = float("-inf")
        self.others: Mapping[str, str] = {}

    def header(self) -> str | None:
        return self._authorization if self._clock() < self._good_until else None

    async def prepare(self, _leave: Permit | None = None) -> str:
        async with self._turn:
            if self.header() is None:
                await self._print()
        return self._authorization

    async def renew(self, used: str, challenge: Challenge, *, again: bool, leave: Permit | None = None) -> None:
        del leave
        if again or challenge.lacks_scope:
            raise self.needed(used, challenge)
        async with self._turn:
            if not self._replaced(used):
                await self._print()

    def needed(self, used: str, challenge: Challenge) -> LoginNeeded:
        del used
        lacking = " (it wants more rights)" if challenge.lacks_scope else ""
        return LoginNeeded(
            f"the server refuses the headers that `headers_command` prints{lacking}",
            where=self._server,
            cause="they are of somebody the server does not know, or no longer good",
            fix=f"run `{self._command.argv[0]}` by hand, with {USER} and {SESSION} set, and try what it prints",
        )

    def _replaced(self, used: str) -> bool:
        """Whether another request of this principal has had them printed anew meanwhile."""
        if used or self._authorization:
            return used != self._authorization
        return self._clock() - self._printed_at < AGAIN_AFTER

    async def _print(self) -> None:
        try:
            said = await heard(self._command, WITHIN)
        except SandboxError as error:
            self._mask.error(error)
            # The remedy is of programs that a config names, and names the key of another one.
            fix = error.fix.replace("`command`", "`headers_command`")
            raise self._failed(error.message, error.evidence, fix) from error
        printed = _read(said.out)
        # Before anything is told: the program may repeat in an error what it has printed.
        self._mask.learn(*_texts(printed))
        if said.code != 0:
            raise self._failed(f"it ended with {said.code}", self._last_words(said))
        if printed is None:
            raise self._failed(_no_headers(said.out), self._last_words(said))
        good_for = _good_for(printed.pop(HINT, GOOD_FOR))
        flaws = [str(flaw) for flaw in header_flaws(printed)]
        if good_for is None:
            flaws.append(f"{HINT}: must be a number of seconds above 0")
        if flaws or good_for is None:
            raise self._failed("; ".join(flaws), "")
        named = {str(name).lower(): name for name in printed}
        self._authorization = str(printed.pop(named["authorization"])) if "authorization" in named else ""
        self.others = {str(name): str(value) for name, value in printed.items()}
        self._printed_at = self._clock()
        self._good_until = self._printed_at + good_for

    def _failed(self, message: str, evidence: str, fix: str = "") -> ConnectFailed:
        return ConnectFailed(
            f"`headers_command` gave no headers: {message}",
            where=self._server,
            evidence=evidence,
            fix=fix or f"run `{self._command.argv[0]}` by hand, with {USER} and {SESSION} set, and see what it says",
        )

    def _last_words(self, said: Heard) -> str:
        return self._mask.text(said.err.decode("utf-8", "replace").strip())[-SHOWN:]


USER, SESSION = "BASCULE_USER", "BASCULE_SESSION"


class HeaderCommands:
    """All programs of one runtime that print headers. No two principals share what one printed."""

    def __init__(self, environ: Mapping[str, str] = os.environ) -> None:
        self._environ = environ
        self._made: dict[tuple[str, tuple[str, ...], str, Principal], PrintedHeaders] = {}

    def of(self, server: ServerConfig, principal: Principal, mask: Mask) -> PrintedHeaders | None:
        """None for a server that has no such program."""
        argv = server.headers_command
        if argv is None:
            return None
        url = str(getattr(server.transport, "url", ""))
        key = (server.name, argv, url, principal)
        found = self._made.pop(key, None)
        if found is None:
            found = PrintedHeaders(server, self._command(server.name, url, argv, principal), mask)
        self._made[key] = found
        if len(self._made) > MOST_KEPT:
            del self._made[next(iter(self._made))]
        return found

    def _command(self, name: str, url: str, argv: tuple[str, ...], principal: Principal) -> Command:
        told = {
            USER: principal.user_id,
            SESSION: principal.session_id,
            "BASCULE_SERVER": name,
            "BASCULE_URL": url,
        }
        return Command(argv, child_environment(told, (), self._environ))


def _read(out: bytes) -> JsonObject | None:
    try:
        read = msgspec.json.decode(out)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return dict(read) if is_object(read) else None


def _texts(printed: Any) -> list[str]:
    """However deep they lie: what is no header may be a secret all the same."""
    if is_object(printed) or is_array(printed):
        parts = printed.values() if is_object(printed) else printed
        return [text for part in parts for text in _texts(part)]
    return [printed] if isinstance(printed, str) else []


def _no_headers(out: bytes) -> str:
    """Without a word of what it is: it may be a secret all the same."""
    told = f"more than {KEPT} bytes" if len(out) >= KEPT else f"{len(out)} bytes"
    return f"what it printed ({told}) is no JSON object of headers"


def _good_for(hint: Any) -> float | None:
    """A part of the time is left for what is on its way."""
    if isinstance(hint, bool) or not isinstance(hint, int | float) or not isfinite(hint) or hint <= 0:
        return None
    seconds = min(float(hint), LONGEST)
    return seconds - min(30.0, seconds / 4)
