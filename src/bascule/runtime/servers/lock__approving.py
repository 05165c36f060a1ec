"""Approving what servers list: what was agreed to is put into the lock, unless that says something else by now."""

from collections.abc import Iterable
from pathlib import Path

from bascule.catalog.approval import Proposal, overtaken, with_approved
from bascule.catalog.pinning.lock import LOCK_NAME, LockedServers
from bascule.core.errors import ConfigError
from bascule.runtime.servers.lock import change_lock


def approve(path: Path, servers: Iterable[str], agreed: Iterable[Proposal]) -> None:
    """Have the lock's file say that these are approved, and the servers locked from then on. Raises `ConfigError`, and
    nothing has changed then. Reads and writes: not for the loop's own thread."""
    locking, accepted = tuple(servers), tuple(agreed)

    def approved(locked: LockedServers) -> LockedServers:
        late = overtaken(locked, accepted)
        if late:
            told = f"{LOCK_NAME} was changed meanwhile, and says something else of {late[0]} than you were shown"
            raise ConfigError(told, fix="run `bascule approve` again")
        return with_approved(locked, locking, accepted)

    change_lock(path, approved)
