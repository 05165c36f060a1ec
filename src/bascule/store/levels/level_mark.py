"""Level mark of a workspace: a sealed statement of the sensitivity level of the files in it, and its comparison with
the record of a store. Pure."""

import hmac
from enum import Enum

import msgspec

from bascule.core.principal import Principal
from bascule.core.receipt import Receipt
from bascule.core.sensitivity import DataSensitivity
from bascule.store.levels.interface import SessionRecord

PROVISIONAL = -1
"""Epoch of a mark that was made before the level was known. Its own store replaces it; for others it is SECRET."""

NEVER = -2
"""Epoch of the last declassification where there is none: before every mark."""

STORE_BEHIND = "the level mark of its workspace is ahead of the store"
NOT_A_MARK = "the level mark of its workspace cannot be read: it is damaged, or sealed under another key"
OF_ANOTHER = "the level mark of its workspace is that of another agent session"
LOST = "its workspace has files, and their level mark is gone"

_KIND = b"LevelMark\n"
"""Part of what the MAC covers, so that no other statement under the same key is accepted as a mark."""

_MAC = 64
"""Characters of a MAC: SHA-256, in hexadecimal."""

BLOCK = 512
"""The file is a multiple of this, in bytes, so that it is written in place: its length stays, and where the ids are not
very long it is one sector, which a loss of power does not tear."""


class LevelMark(msgspec.Struct, frozen=True, array_like=True):
    """Lowest level that an agent session has in every store, because of the files in its workspace."""

    user_id: str
    session_id: str
    level: DataSensitivity
    epoch: int
    """Epoch of the level in the store that is named."""
    store: str
    """Id of the store. Epochs of different stores cannot be compared."""


class Absent(Enum):
    """Reason for the absence of a mark that is no damage."""

    NO_WORKSPACE = "no workspace"
    UNMARKED = "unmarked"
    """The workspace has no files yet, or is older than marks."""


class Unusable(msgspec.Struct, frozen=True):
    """A mark that cannot be used, or is missing where there must be one."""

    reason: str


Found = LevelMark | Absent | Unusable


class Comparison(msgspec.Struct, frozen=True):
    """Result of the comparison of a record with a mark."""

    record: SessionRecord
    """The record at the level that counts: SECRET with the reason where the mark is in doubt."""
    mark: LevelMark | None = None
    """The mark to write. None: the one that is there stays."""


def mark_of(record: SessionRecord, store: str) -> LevelMark:
    of = record.principal
    return LevelMark(of.user_id, of.session_id, record.level, record.epoch, store)


def seal_mark(mark: LevelMark, key: bytes) -> bytes:
    """Content of the file: MAC, space, statement, spaces and a line feed."""
    return _sealed(msgspec.json.encode(mark), key)


def read_mark(sealed: bytes, principal: Principal, key: bytes) -> LevelMark | Unusable:
    body = sealed[_MAC + 1 :].rstrip(b" \n")
    if not hmac.compare_digest(sealed, _sealed(body, key)):
        return Unusable(NOT_A_MARK)
    try:
        mark = msgspec.json.decode(body, type=LevelMark)
    except msgspec.DecodeError:
        return Unusable(NOT_A_MARK)  # written by another version
    fits = (mark.user_id, mark.session_id) == (principal.user_id, principal.session_id)
    return mark if fits else Unusable(OF_ANOTHER)


def _sealed(body: bytes, key: bytes) -> bytes:
    line = _mac(body, key) + b" " + body
    return line.ljust(-(-(len(line) + 1) // BLOCK) * BLOCK - 1) + b"\n"


def _mac(body: bytes, key: bytes) -> bytes:
    return hmac.digest(key, _KIND + body, "sha256").hex().encode()


def last_lowered(receipts: tuple[Receipt, ...]) -> int:
    """Epoch of the last declassification of an agent session."""
    return max((receipt.epoch for receipt in receipts if receipt.change == "declassify"), default=NEVER)


def compare(
    record: SessionRecord, found: Found, store: str, lowered: int | None = None, *, claim: bool = True
) -> Comparison | None:
    """Compares a record of the store with this id with the mark of the workspace.

    `lowered` is the epoch of the last declassification. None stands for unknown, and the result is None where it
    decides. With `claim`, the store also takes over the mark of another store whose level is no lower."""
    match found:
        case Absent.NO_WORKSPACE:
            return Comparison(record)
        case Absent.UNMARKED:
            return Comparison(record, mark_of(record, store))
        case Unusable(reason=reason):
            return Comparison(_doubted(record, reason))
        case LevelMark() if found.store != store:
            counted = _at(record, max(found.level, record.level))
            write = claim or found.level < record.level
            return Comparison(counted, mark_of(counted, store) if write else None)
        case LevelMark():
            return _of_this_store(record, found, lowered)


def _of_this_store(record: SessionRecord, mark: LevelMark, lowered: int | None) -> Comparison | None:
    if mark.epoch > record.epoch:
        # The epoch stays, so that the doubt stays.
        higher = msgspec.structs.replace(mark, level=max(mark.level, record.level))
        return Comparison(_doubted(record, STORE_BEHIND), higher if higher != mark else None)
    level = record.level
    if mark.level > level and mark.epoch != PROVISIONAL:
        if lowered is None:
            return None
        # Only a declassification after the mark was written lowers it.
        level = level if mark.epoch < lowered else mark.level
    counted = _at(record, level)
    wanted = mark_of(counted, mark.store)
    return Comparison(counted, wanted if wanted != mark else None)


def _at(record: SessionRecord, level: DataSensitivity) -> SessionRecord:
    return record if level == record.level else msgspec.structs.replace(record, level=level)


def _doubted(record: SessionRecord, reason: str) -> SessionRecord:
    return msgspec.structs.replace(record, level=DataSensitivity.SECRET, doubt=record.doubt or reason)
