"""A slot of the audit log: one chain, held by one runtime at a time, and continued by the next."""

import os
from collections.abc import Mapping
from itertools import count, islice

from bascule.core.errors import StoreError
from bascule.records.audit.chain_slot__audit_tail import read_tail
from bascule.store.audit.anchors import Anchor
from bascule.store.audit.chain import Chain, Macs
from bascule.store.audit.file import AuditFile
from bascule.store.audit.folder import MOST_SLOTS, AuditFolder, unusable, writer_of
from bascule.store.secrets.process_lock import taken


class Slot:
    """A slot that is held. What it ends with was looked at, and may be continued."""

    def __init__(self, folder: AuditFolder, name: str, chain: Chain, torn: int, lock: int) -> None:
        self.writer = ""
        self.name = name
        self.chain = chain
        self.torn = torn
        self.file = AuditFile(folder, name)
        self.passed: tuple[str, ...] = ()
        """Slots that were free, and whose end cannot be believed."""
        self._lock = lock

    @property
    def is_new(self) -> bool:
        return self.chain.sequence == 0

    def free(self) -> None:
        self.file.end()
        os.close(self._lock)


def take_slot(folder: AuditFolder, id_: str, key: bytes, anchors: Mapping[str, Anchor | None]) -> Slot:
    """Hold the first slot that is free and in order. `anchors` has what is kept of each chain, None for what cannot be
    believed. One whose end is altered, or lies before its anchor, is left as it is: to continue it would cover up what
    was done to it. Raises `StoreError`."""
    passed: list[str] = []
    try:
        for name in (f"{number:04}" for number in islice(count(1), MOST_SLOTS)):
            lock = _hold(folder, name)
            if lock is None:
                continue
            try:
                slot = _examine(folder, id_, name, lock, key, anchors)
            except BaseException:
                os.close(lock)
                raise
            if slot is not None:
                slot.passed = tuple(passed)
                return slot
            os.close(lock)
            passed.append(name)
    except OSError as error:
        raise unusable(folder.path, error) from error
    raise StoreError(f"all {MOST_SLOTS} slots of the audit log in {folder.path} are taken")


def _hold(folder: AuditFolder, name: str) -> int | None:
    descriptor = os.open(folder.lock(name), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    if taken(descriptor):
        return descriptor
    os.close(descriptor)
    return None


def _examine(
    folder: AuditFolder, id_: str, name: str, lock: int, key: bytes, anchors: Mapping[str, Anchor | None]
) -> Slot | None:
    writer = writer_of(id_, name)
    macs = Macs(key, writer)
    files = folder.files().get(name, [])
    tail = read_tail(files)
    chain = tail.chain(macs)
    # Only the file that was written to last can end in the middle of a record.
    torn_elsewhere = tail.torn and files[-1] != folder.current(name)
    if chain is None or torn_elsewhere or not _reaches(chain, writer, anchors):
        return None
    slot = Slot(folder, name, chain, tail.torn, lock)
    slot.writer = writer
    return slot


def _reaches(chain: Chain, writer: str, anchors: Mapping[str, Anchor | None]) -> bool:
    """Whether the chain comes up to its anchor."""
    if writer not in anchors:
        return True
    anchor = anchors[writer]
    if anchor is None:
        return False
    return anchor.sequence < chain.sequence or (anchor.sequence, anchor.mac) == (chain.sequence, chain.mac.hex())
