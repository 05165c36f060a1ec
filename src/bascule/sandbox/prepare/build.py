"""Build of a package layer: fetch in a sandbox, size limit, and seal against changes. A failed fetch is explained from
the last lines of its output."""

import asyncio
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bascule.core.errors import SandboxError
from bascule.sandbox.prepare.fetch_box import ROOM, SCRATCH, TEMPORARY, Place, fetching
from bascule.sandbox.prepare.fetcher import Fetcher
from bascule.sandbox.prepare.installed import program_in
from bascule.sandbox.prepare.layer import FORMAT, RECORD, TREE, Record, written
from bascule.sandbox.prepare.layer_files import content_digest, look_digest, remove, seal, size_of
from bascule.sandbox.prepare.package import Package
from bascule.sandbox.prepare.registry_files import registries_of
from bascule.sandbox.process.child import Command
from bascule.sandbox.spec.box import Box
from bascule.sandbox.spec.engine import Ended

LINES = 12
LONGEST = 2000
"""Characters of a program's last words that are told."""

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNPRINTABLE = re.compile(r"[^\x20-\x7e\n\u00a0-\uffff]")


@dataclass(frozen=True, slots=True)
class _Sign:
    seen: re.Pattern[str]
    cause: str
    fix: str


_SIGNS = (
    _Sign(
        re.compile(
            r"\b(ENOTFOUND|EAI_AGAIN|ENETUNREACH|ECONNREFUSED|ECONNRESET|ETIMEDOUT)\b|dns error|name resolution"
            r"|Failed to establish a new connection|error sending request|Network is unreachable|tcp connect error"
        ),
        "the registry cannot be reached from here",
        "look at the network and at HTTPS_PROXY; once fetched, a package is not asked for again",
    ),
    _Sign(
        re.compile(
            r"\b(SELF_SIGNED_CERT\w*|UNABLE_TO_\w*CERT\w*|DEPTH_ZERO\w*)\b|CERTIFICATE_VERIFY_FAILED|UnknownIssuer"
        ),
        "the registry's certificate is not known here",
        "name the authority in NODE_EXTRA_CA_CERTS (npm), SSL_CERT_FILE (uv) or PIP_CERT (pip)",
    ),
    _Sign(
        re.compile(r"\b(E401|E403|ENEEDAUTH)\b|401 Unauthorized|403 Forbidden"),
        "the registry wants to know who asks, and a box that fetches has no credentials",
        "install the package yourself, and name its program as the command",
    ),
    _Sign(
        re.compile(r"not satisfy Python|requires a different Python|does not satisfy Python|depends on Python"),
        "the package wants another version of Python than the one it was fetched for",
        "name one with --python, as in `uvx --python 3.12 …`",
    ),
    _Sign(
        re.compile(
            r"\b(E404|ETARGET|EINVALIDPACKAGENAME)\b|No matching distribution|No solution found"
            r"|was not found in the package"
        ),
        "there is no such package, or no such version of it",
        "look at the name and the version in `args`",
    ),
    _Sign(
        re.compile(r"\bENOSPC\b|No space left"),
        "there is no room",
        "make room on the disk with the state folder, or set BASCULE_HOME to a folder on another",
    ),
    _Sign(
        re.compile(r"ensurepip is not available|No module named (venv|ensurepip)"),
        "this machine's Python comes without venv",
        "install uv, or python3-venv",
    ),
)


def fetch_failed(what: str, code: int, output: str, left_out: tuple[str, ...] = ()) -> SandboxError:
    sign = next((each for each in _SIGNS if each.seen.search(output)), None)
    without = f"left out, since they carry credentials: {', '.join(left_out)}" if left_out else ""
    return SandboxError(
        f"{what} could not be fetched",
        where="prepare",
        evidence="\n".join(part for part in (last_words(output) or f"exit code {code}", without) if part),
        cause=sign.cause if sign else f"its installation ended with the code {code}",
        fix=sign.fix if sign else "run the same command in a terminal to see all it says",
    )


def last_words(output: str) -> str:
    """Without what would move a cursor."""
    plain = _UNPRINTABLE.sub("", _ESCAPES.sub("", output.replace("\r\n", "\n").replace("\r", "\n")))
    lines = [line.rstrip() for line in plain.splitlines() if line.strip()]
    return "\n".join(lines[-LINES:])[-LONGEST:]


LOOK_EVERY = 1.0
"""Seconds between two looks at how much a fetch has written."""

AFTER = 30.0
"""Seconds that an engine has beyond ours."""


class Runs(Protocol):
    """The one thing that is wanted of an engine here."""

    async def run(self, box: Box, timeout: float) -> Ended: ...


@dataclass(frozen=True, slots=True)
class Making:
    """One layer that is to be made."""

    package: Package
    fetcher: Fetcher
    command: Command
    """Whose registries count."""
    environ: Mapping[str, str]
    within: float
    """Seconds for all of it."""
    room: int = ROOM

    async def make(self, folder: Path, place: Place, engine: Runs) -> None:
        """In a folder that is not there yet."""
        _open_folder(folder / TREE)
        await self._fetch(place, engine)
        await asyncio.to_thread(self._finish, folder)

    async def _fetch(self, place: Place, engine: Runs) -> None:
        registries = registries_of(self.fetcher, self.command, self.environ)
        end = time.monotonic() + self.within
        for box in await asyncio.to_thread(fetching, self.package, self.fetcher, registries, place):
            ended = await self._run(box, end, engine, Path(place.source))
            if ended.code != 0:
                raise fetch_failed(self.package.described, ended.code, ended.output, registries.left_out)

    async def _run(self, box: Box, end: float, engine: Runs, tree: Path) -> Ended:
        """Until it is done, takes too long or has written too much."""
        seconds = max(end - time.monotonic(), 0.0)
        # An engine knows less of why it takes so long than we do.
        running = asyncio.ensure_future(engine.run(box, seconds + AFTER))
        watching = asyncio.ensure_future(self._overflow(tree))
        try:
            async with asyncio.timeout(seconds):
                await asyncio.wait((running, watching), return_when=asyncio.FIRST_COMPLETED)
            if running.done():
                return running.result()
        except TimeoutError:
            raise SandboxError(
                f"{self.package.described} was not fetched within {self.within:g} s",
                where="prepare",
                cause="the registry is slow, or installing the package takes long",
                fix="try again; or install the package yourself, and name its program as the command",
            ) from None
        finally:
            for task in (running, watching):
                task.cancel()
            await asyncio.gather(running, watching, return_exceptions=True)
        raise self._too_large()

    def _too_large(self) -> SandboxError:
        return SandboxError(
            f"{self.package.described} is too large to be prepared",
            where="prepare",
            evidence=f"more than {self.room} bytes were written",
            fix="install the package yourself, and name its program as the command",
        )

    async def _overflow(self, tree: Path) -> None:
        """Returns when more is there than may be."""
        while await asyncio.to_thread(size_of, tree) <= self.room:  # noqa: ASYNC110 -- nobody tells us of a write
            await asyncio.sleep(LOOK_EVERY)

    def _finish(self, folder: Path) -> None:
        tree = folder / TREE
        if size_of(tree) > self.room:
            raise self._too_large()
        remove(tree / SCRATCH)
        program = program_in(tree, self.package)
        seal(tree)
        record = Record(
            format=FORMAT,
            described=self.package.described,
            runner=self.package.runner,
            pinned=self.package.pinned,
            program=program,
            interpreter=self.fetcher.interpreter,
            needed=self.fetcher.needed,
            digest=content_digest(tree),
            look=look_digest(tree),
            size=size_of(tree),
            made=time.time(),
        )
        (folder / RECORD).write_bytes(written(record))


def _open_folder(tree: Path) -> None:
    """A folder to be written to by whoever is in the box, under whichever number that is outside."""
    tree.parent.mkdir(mode=0o700)
    for folder in (tree, tree / SCRATCH, tree / SCRATCH / TEMPORARY):
        folder.mkdir()
        folder.chmod(0o777)
