"""An edited config, applied to what runs: only servers that changed are touched, and a broken edit changes nothing."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

from bascule.config.diff import SETTINGS, ConfigDiff, difference
from bascule.config.model.runtime_config import RuntimeConfig
from bascule.core.errors import BasculeError
from bascule.core.events import ConfigApplied, ConfigRejected
from bascule.records.recorder import Recorder
from bascule.runtime.sandboxes import Boxes
from bascule.runtime.servers.registry import Roster
from bascule.runtime.servers.registry__ending import Ending

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
