"""Permit to send a request, valid once its record is in the audit log."""

import msgspec

from bascule.core.request import Permit
from bascule.store.audit.file import Unwritten
from bascule.store.audit.writer import AuditWriter


class WrittenFirst(msgspec.Struct, frozen=True, gc=False):
    """A permit that holds only once a record is in the file. It is asked where bytes are handed over, and then writes
    all records that wait: many requests that leave together share one write."""

    permit: Permit
    writer: AuditWriter
    number: int

    def valid(self) -> bool:
        if not self.permit.valid():
            return False
        writer = self.writer
        if self.number >= writer.first_kept:
            try:
                writer.write()
            except Unwritten:
                # What could not be written is not sent either. Whoever decides anew is told why.
                return False
        return True
