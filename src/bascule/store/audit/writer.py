"""Writer of audit records to one chain and its file. Records that the file cannot take now are queued, and written
first."""

import msgspec

from bascule.store.audit.chain import Chain
from bascule.store.audit.file import AuditFile, Unwritten

MOST_KEPT = 10_000
"""Records that wait for room. Beyond that nothing is done any more that would need another."""

MOST_BYTES = 64 * 1024 * 1024
"""Bytes of such records: whole arguments may be large."""

_encode_lines = msgspec.json.Encoder().encode_lines


class AuditWriter:
    """One chain and its file. The loop's alone: nothing here may be used in a thread."""

    def __init__(self, chain: Chain, file: AuditFile) -> None:
        self._chain = chain
        self._file = file
        self._waiting: list[msgspec.Struct] = []
        """Not chained yet: that is cheaper for many at once."""
        self._lines = bytearray()
        """Chained, and not in the file yet."""
        self.next = chain.sequence + 1
        """The number of the next record."""
        self.first_kept = self.next
        """The number of the first record that is not in the file yet."""
        self.trouble: OSError | None = None
        """Why the last attempt to write failed; None if it did not."""

    @property
    def head(self) -> tuple[int, str]:
        """The number and the MAC of the last record, once all of them are written."""
        return self._chain.sequence, self._chain.mac.hex()

    @property
    def kept(self) -> int:
        """Records that are not in the file yet."""
        return self.next - self.first_kept

    @property
    def full(self) -> bool:
        return self.kept >= MOST_KEPT or len(self._lines) >= MOST_BYTES

    @property
    def overfull(self) -> bool:
        return self.kept >= 2 * MOST_KEPT or len(self._lines) >= 2 * MOST_BYTES

    def put(self, record: msgspec.Struct) -> None:
        """Add the next record, which is written with the next one that is."""
        self._waiting.append(record)
        self.next += 1

    def put_now(self, record: msgspec.Struct) -> int:
        """Add the next record. It is in the file when this returns, behind all that were added before; else there is no
        such record. Its number. Raises `Unwritten`."""
        self._chain_up()
        chain, number = self._chain, self.next
        mac, length = chain.mac, len(self._lines)
        self.put(record)
        self._chain_up()
        length = len(self._lines) - length
        try:
            self.write()
        except Unwritten:
            # It is the last one, so it was not written whole, and nothing hangs on it yet.
            del self._lines[-length:]
            self.next = number
            chain.sequence, chain.mac = number - 1, mac
            raise
        return number

    def write(self) -> None:
        """Have all that was added in the file. Raises `Unwritten`; what could not be written is kept."""
        if self.next == self.first_kept:
            return
        self._chain_up()
        lines = self._lines
        try:
            self._file.append(lines)
        except Unwritten as short:
            self.first_kept += lines.count(b"\n", 0, short.whole)
            del lines[: short.whole]
            self.trouble = short.error
            raise
        lines.clear()
        self.first_kept = self.next
        self.trouble = None

    def _chain_up(self) -> None:
        if self._waiting:
            self._lines += self._chain.add(_encode_lines(self._waiting))
            self._waiting.clear()
