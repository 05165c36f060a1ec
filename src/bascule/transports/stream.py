"""Messages as the lines of a byte stream: a child's pipes, or a server object in this process."""

from bascule.transports.messages import MessageDispatcher
from bascule.wire.framing import LineFramer


class StreamDispatcher(MessageDispatcher):
    """One conversation over one byte stream. Subclasses open and close it, and call `feed` and `lose`."""

    kind = "stream"
    garbage_cause = "the server prints to stdout, which belongs to the protocol"
    garbage_fix = "make the server log to stderr"

    def __init__(self, max_message: int) -> None:
        super().__init__(max_message)
        self._framer = LineFramer(max_message)

    def feed(self, data: bytes) -> None:
        """Take what arrived. Reading stops for good at a message over the cap."""
        self.take(self._framer.feed(data))
        if self._framer.overflowed:
            self.overflow()
