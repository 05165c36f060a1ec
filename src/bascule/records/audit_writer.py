"""Adds records to a chain and its file. What the file cannot take now is kept, in order, and written first."""

import msgspec

from bascule.records.audit_chain import Chain
from bascule.records.audit_file import AuditFile, Unwritten
from bascule.records.audit_record import Record

MOST_KEPT = 10_000
"""Records that wait for room. Beyond that nothing is done any more that would need another."""

MOST_BYTES = 64 * 1024 * 1024
"""Bytes of such records: whole arguments may be large."""

_encode = msgspec.json.Encoder().encode


class AuditWriter:
    """One chain and its file. The loop's alone: nothing here may be used in a thread."""

    def __init__(self, chain: Chain, file: AuditFile) -> None:
        self._chain = chain
        self._file = file
        self._pending = bytearray()
        self.kept = 0
        """Records that are not in the file yet."""
        self.trouble: OSError | None = None
        """Why the last attempt to write failed; None if it did not."""

    @property
    def next(self) -> int:
        """The number of the next record."""
        return self._chain.sequence + 1

    @property
    def head(self) -> tuple[int, str]:
        """The number and the MAC of the last record."""
        return self._chain.sequence, self._chain.mac.hex()

    @property
    def full(self) -> bool:
        return self.kept >= MOST_KEPT or len(self._pending) >= MOST_BYTES

    @property
    def overfull(self) -> bool:
        return self.kept >= 2 * MOST_KEPT or len(self._pending) >= 2 * MOST_BYTES

    def put(self, record: Record) -> None:
        """Add a record, which is written with the next one that is."""
        self._pending += self._chain.add(_encode(record))
        self.kept += 1

    def put_now(self, record: Record) -> int:
        """Add a record. It is in the file when this returns, behind all that were added before; else there is no such
        record. Its number. Raises `Unwritten`."""
        chain = self._chain
        sequence, mac = chain.sequence, chain.mac
        line = chain.add(_encode(record))
        self._pending += line
        self.kept += 1
        try:
            self.write()
        except Unwritten:
            # It is the last one, so it was not written whole, and nothing hangs on it yet.
            del self._pending[-len(line) :]
            self.kept -= 1
            chain.sequence, chain.mac = sequence, mac
            raise
        return sequence + 1

    def write(self) -> None:
        """Have all that was added in the file. Raises `Unwritten`; what could not be written is kept."""
        if not self._pending:
            return
        try:
            self._file.append(self._pending)
        except Unwritten as short:
            self.kept -= self._pending.count(b"\n", 0, short.whole)
            del self._pending[: short.whole]
            self.trouble = short.error
            raise
        self._pending.clear()
        self.kept = 0
        self.trouble = None
