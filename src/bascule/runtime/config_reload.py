"""Config reload: watches the config file and its `.env`, and applies complete edits. Only changed servers are touched,
and a broken edit changes nothing."""

import asyncio
import hashlib
import stat
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from bascule.config.diff import SETTINGS, ConfigDiff, difference
from bascule.config.loading.document import MAX_FILE
from bascule.config.locate import loaded_files
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.errors import BasculeError
from bascule.core.events import ConfigApplied, ConfigRejected
from bascule.files.regular_file import read_regular
from bascule.records.recorder import Recorder
from bascule.runtime.sandboxes import Boxes
from bascule.runtime.servers.registry import Ending, Roster

Trial = Callable[[RuntimeConfig], Roster]
"""Makes a roster of its own, to try servers before they take anyone's place."""


class Reloading:
    """Takes over one config after another, one at a time. `config` is what runs."""

    def __init__(
        self,
        config: RuntimeConfig,
        roster: Roster,
        trial: Trial,
        recorder: Recorder,
        clock: Callable[[], float],
        boxes: Boxes,
    ) -> None:
        self.config = config
        self._roster = roster
        self._trial = trial
        self._record = recorder.record
        self._clock = clock
        self._boxes = boxes
        self._turn = asyncio.Lock()
        self._told_settings: tuple[str, ...] = ()
        self._rejected = ""

    async def apply(self, read: Callable[[], RuntimeConfig]) -> ConfigApplied:
        """Read a config and make it the one that runs. Raises why that cannot be, and then nothing has changed.

        Either way there is one event, unless nothing differs from what was last told.
        """
        async with self._turn:
            try:
                new = await asyncio.to_thread(read)
                diff = difference(self.config, new)
                await self._boxes.look(new.servers)
                await self._prove_required(new, diff)
            except BasculeError as error:
                self._reject(error)
                raise
            kept_out = new.egress != self.config.egress
            notes = (*self._settings(diff), *(note for note in new.notes if note not in self.config.notes))
            if kept_out:
                notes = ("egress was changed: only the hosts in it now are let through", *notes)
            # What is settled at the start stays as it was, so that later edits are compared with what runs.
            kept = {field: getattr(self.config, field) for field in SETTINGS}
            self.config = replace(new, **kept)
            self._roster.egress = new.egress
            if kept_out:
                await self._boxes.let_out(new.egress)
            ending = self._roster.adopt(new.servers, diff)
            applied = ConfigApplied(diff.added, diff.removed, diff.restarted, diff.retuned, notes, self._clock())
            try:
                await self._finish(ending, diff)
            finally:
                if diff or notes or self._rejected:
                    self._record(applied)
                self._rejected = ""
            return applied

    async def _prove_required(self, new: RuntimeConfig, diff: ConfigDiff) -> None:
        """Try new and changed `required` servers beside the ones that run. Raises for the first that cannot be used."""
        running = self.config.servers
        names = (*diff.added, *diff.restarted, *(name for name in diff.retuned if not running[name].required))
        required = {name: new.servers[name] for name in names if new.servers[name].required}
        if not required:
            return
        trial = self._trial(replace(self.config, servers=required))
        try:
            await trial.prove_required()
        finally:
            await trial.close()

    async def _finish(self, ending: Ending, diff: ConfigDiff) -> None:
        """Wait until nothing is left of what was there before."""
        await asyncio.gather(*(link.close() for link in ending.links))
        await asyncio.gather(*(login.close() for login in ending.logins))
        if ending.listings:
            # Each tells whoever leases its link what went wrong; here it is enough that it is over.
            for listing in (await asyncio.wait(ending.listings))[0]:
                listing.exception()
        for name in diff.removed:
            self._roster.masks.pop(name, None)

    def _settings(self, diff: ConfigDiff) -> tuple[str, ...]:
        """What was asked and needs a new start of the program. Told once, and not again with every edit."""
        before, self._told_settings = self._told_settings, diff.settings
        if diff.settings in {(), before}:
            return ()
        return tuple(f"{key} was changed: that takes effect when the program is started anew" for key in diff.settings)

    def _reject(self, error: BasculeError) -> None:
        told = f"{error.message}\n{error.evidence}"
        if told != self._rejected:
            self._rejected = told
            self._record(ConfigRejected(error, self._clock()))


EVERY = 0.5
"""Seconds between looks. Every file system can be looked at; not every one tells of changes."""

SETTLING = 0.1
"""Seconds between looks at a file that changes. Two that are alike end the wait."""

GONE_LOOKS = 10
"""Looks in a row at no file, or an empty one, before that counts. Many editors empty or move a file to write it."""

TICK = 2.0
"""Seconds after which two writes surely have two times. Some file systems keep no more of a time than that."""

_Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Look:
    """How the files were found at one moment."""

    stamps: tuple[_Stamp | None, ...]
    """When each was last written, its size, and which file it is."""
    digest: bytes
    empty: bool
    """Whether the config itself is empty, or not there."""
    at: float = field(default=0.0, compare=False)
    """Seconds since the epoch."""


class Watching:
    """Calls `reload` once an edit is complete. What is wrong with an edit is `reload`'s to tell."""

    def __init__(self, path: Path, reload: Callable[[], Awaitable[object]]) -> None:
        self._files = loaded_files(path)
        self._reload = reload

    async def run(self) -> None:
        """Watch for ever. An edit that could not be applied is tried again when the file is written again."""
        seen: Look | None = None
        rejected = False
        while True:
            look = await self._settled(seen)
            if seen is None or look.digest != seen.digest or (rejected and look.stamps != seen.stamps):
                try:
                    await self._reload()
                except BasculeError:
                    rejected = True
                else:
                    rejected = False
            seen = look
            await asyncio.sleep(EVERY)

    async def _settled(self, seen: Look | None) -> Look:
        """How the files are once they have stopped changing."""
        look = await self._look(seen)
        if seen is not None and look == seen:
            return look
        alike = 1
        while alike < (GONE_LOOKS if look.empty else 2):
            await asyncio.sleep(SETTLING)
            before, look = look, await self._look(look)
            alike = alike + 1 if look == before else 1
        return look

    async def _look(self, last: Look | None) -> Look:
        # In a thread: a file may lie on a disk that hangs.
        return await asyncio.to_thread(look_at, self._files, last, time.time())


def look_at(files: tuple[Path, ...], last: Look | None, now: float) -> Look:
    """How the files are. They are read only if they can have changed since the last look."""
    stamps = tuple(map(_stamp, files))
    if last is not None and stamps == last.stamps and _is_past(stamps, last.at):
        return last
    contents = [_read(file) if stamp is not None else None for file, stamp in zip(files, stamps, strict=True)]
    digest = hashlib.sha256()
    for content in contents:
        digest.update(b"-" if content is None else hashlib.sha256(content).digest())
    return Look(stamps, digest.digest(), not (contents[0] or b"").strip(), now)


def _is_past(stamps: tuple[_Stamp | None, ...], looked: float) -> bool:
    """Whether any later write would have left another time. One within the same tick, of the same size, leaves none."""
    return all(stamp is None or looked - stamp[0] / 1e9 > TICK for stamp in stamps)


def _stamp(file: Path) -> _Stamp | None:
    try:
        status = file.stat()
    except OSError:
        return None
    # Reading anything else, a pipe say, could wait for ever.
    return (status.st_mtime_ns, status.st_size, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def _read(file: Path) -> bytes | None:
    try:
        return read_regular(file, MAX_FILE + 1)
    except OSError:
        return None
