"""Position of a runtime in the history of a store: the last receipt that it has applied, and the database of that
receipt.

A number alone does not identify a receipt: an older copy of a database (a backup, a replica that lagged) gives the same
numbers to other receipts."""

from hashlib import sha256

import msgspec

from bascule.core.principal import Principal
from bascule.core.receipt import Receipt

LENGTH = 16
"""Characters of a fingerprint, in hexadecimal: 64 bits tell apart the few receipts that one number can have."""


UNREADABLE = "unreadable"
"""In place of the fingerprint of a receipt that cannot be read."""


class Position(msgspec.Struct, frozen=True, array_like=True):
    """The last receipt of a store at one moment. Number 0 with an empty fingerprint: there is no receipt yet."""

    number: int = 0
    fingerprint: str = ""
    origin: str = ""
    """The database: the id of the store, with PostgreSQL also the system identifier of the server and its timeline."""


def fingerprint(principal: Principal, epoch: int, at: float) -> str:
    """Fingerprint of a receipt. It covers only what never changes: a receipt is completed after its change."""
    body = msgspec.json.encode((principal.user_id, principal.session_id, epoch, at))
    return sha256(body).hexdigest()[:LENGTH]


def position_after(receipt: Receipt, origin: str = "") -> Position:
    return Position(receipt.number, fingerprint(receipt.principal, receipt.epoch, receipt.at), origin)
