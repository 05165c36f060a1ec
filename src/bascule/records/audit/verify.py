"""Verification of an audit log: every chain from its first record to its last, and against its anchors."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from bascule.records.audit.damage import AuditCheck, Damage, ProvenBy, WriterCheck
from bascule.records.audit.read import open_files, whole_lines
from bascule.records.audit.walk import Walk
from bascule.store.audit.anchors import Anchor, read_anchor
from bascule.store.audit.chain import Macs
from bascule.store.audit.folder import AuditFolder, writer_of
from bascule.store.interface import Store
from bascule.store.secrets.key_files import FOLDER as KEYS
from bascule.store.secrets.key_files import KeyFiles
from bascule.store.secrets.keys import AUDIT_KEY, audit_key

Anchors = dict[str, list[Anchor]]


async def check_state(state: Path, store: Store, given: Sequence[Anchor] = ()) -> AuditCheck:
    """Verify the log of a state folder. Raises `StoreError` where its key is gone."""
    folder = AuditFolder(state)
    # In this order: what begins later is not known here, what is known here has its anchor in the store by now.
    slots = list(folder.files())
    sealed = await store.anchors.sealed()
    keys = KeyFiles(state / KEYS)
    if not slots and not given and keys.read(AUDIT_KEY) is None:
        return AuditCheck((), elsewhere=len(sealed))
    key = audit_key(keys, make=False)
    return await asyncio.to_thread(check_log, folder, slots, key, sealed, given)


def check_log(
    folder: AuditFolder, slots: Sequence[str], key: bytes, sealed: Mapping[str, object], given: Sequence[Anchor] = ()
) -> AuditCheck:
    """Verify the chains in these slots, which were looked up before `sealed` was read from the store: so a chain that
    begins meanwhile is not taken for one whose anchor was removed. `given` are anchors that were kept elsewhere."""
    id_ = folder.id()
    if id_ is None:
        if not slots and not sealed and not given:
            return AuditCheck(())
        told = "the id of the audit folder is not there, or cannot be read: no chain can be told from another's"
        return AuditCheck((), (Damage("id missing", told, "id"),))
    kept, damage, elsewhere = _believed(sealed, key, id_)
    stated: Anchors = defaultdict(list)
    for anchor in given:
        stated[anchor.writer].append(anchor)
    checks = [_check_slot(folder, id_, slot, key, (kept, stated)) for slot in slots]
    known = {check.writer for check in checks}
    damage += [
        Damage("file missing", f"no file of {writer} is there, and it had {last} records", sequence=last)
        for writer in sorted({*kept, *stated} - known)
        if (last := max(anchor.sequence for anchor in (*kept.get(writer, ()), *stated.get(writer, ()))))
    ]
    return AuditCheck(tuple(checks), tuple(damage), elsewhere)


def _believed(sealed: Mapping[str, object], key: bytes, id_: str) -> tuple[Anchors, list[Damage], int]:
    """The anchors that are ours and true, what is wrong with others of ours, and how many are somebody else's."""
    kept: Anchors = {}
    damage: list[Damage] = []
    elsewhere = 0
    for writer, found in sealed.items():
        anchor = read_anchor(found, key)
        if anchor is not None and anchor.writer == writer:
            kept[writer] = [anchor]
        elif anchor is not None or str(writer).startswith(f"{id_}-"):
            damage.append(Damage("forged anchor", f"the anchor of {writer} in the store was not made by us"))
        else:
            elsewhere += 1
    return kept, damage, elsewhere


def _check_slot(folder: AuditFolder, id_: str, slot: str, key: bytes, anchors: tuple[Anchors, Anchors]) -> WriterCheck:
    writer = writer_of(id_, slot)
    kept, given = (each.get(writer, []) for each in anchors)
    wanted: dict[int, list[Anchor]] = defaultdict(list)
    for anchor in (*kept, *given):
        wanted[anchor.sequence].append(anchor)
    walk = Walk(Macs(key, writer), writer, wanted)
    names, unfinished = _along(folder, slot, walk)
    reached = walk.head.sequence if walk.head is not None else 0
    if not kept:
        told = "the store has no anchor of it: that was removed, or the log belongs to another store"
        walk.add("anchor missing", told, reached + 1)
    for last in sorted({anchor.sequence for anchor in (*kept, *given) if anchor.sequence > reached})[-1:]:
        told = f"it ends with record {reached}, and had {last}: {last - reached} were cut off"
        walk.add("cut off", told, reached + 1, (names[-1] if names else "", 0))
    proven, by = _proven(walk, kept)
    return WriterCheck(writer, names, walk.records, walk.head, proven, by, tuple(walk.damage), walk.damages, unfinished)


def _along(folder: AuditFolder, slot: str, walk: Walk) -> tuple[tuple[str, ...], int]:
    """Walk along all files of a slot. Their names, and the bytes of a last line that is not whole."""
    unfinished = 0
    with ExitStack() as stack:
        files = open_files(folder, slot, stack)
        for name, file in files.items():
            for number, line in enumerate(whole_lines(file), start=1):
                if line.endswith(b"\n"):
                    walk.step(name, number, line[:-1])
                elif name == folder.current(slot).name:
                    unfinished = len(line)
                else:
                    # Only the newest file can be in the making. Behind this one another has gone on.
                    walk.add("altered", "the end of this line is missing", walk.expected, (name, number))
                    walk.step(name, number, line)
    walk.end()
    return tuple(files), unfinished


def _proven(walk: Walk, kept: Sequence[Anchor]) -> tuple[Anchor | None, ProvenBy]:
    """The last anchor up to which all is in order. Where something is wrong, one that the log itself tells of."""
    bad = walk.first_bad
    held = [anchor for anchor in walk.held if bad is None or anchor.sequence < bad]
    best = max(held, key=lambda anchor: anchor.sequence, default=None)
    told = walk.proven
    if best is None or (bad is not None and told is not None and told.sequence > best.sequence):
        return told, "log" if told is not None else ""
    return best, "store" if best in kept else "given"
