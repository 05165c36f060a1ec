"""Messages on a byte stream, as lines or behind their length: a child's pipes, or a server object in this process."""

from bascule.transports.jsonrpc import MessageDispatcher
from bascule.transports.process.stream__dialect import Dialect
from bascule.wire.jsonrpc import Message, normal_id


class StreamDispatcher(MessageDispatcher):
    """One conversation over one byte stream. Subclasses open and close it, and call `feed` and `lose`."""

    kind = "stream"
    garbage_cause = "the server prints to stdout, which belongs to the protocol"
    garbage_fix = "make the server log to stderr"

    def __init__(self, max_message: int) -> None:
        super().__init__(max_message)
        self._dialect = Dialect(max_message, self._awaits)

    def feed(self, data: bytes) -> None:
        """Take what arrived. Reading stops for good at a message over the cap: what follows it cannot be trusted."""
        dialect = self._dialect
        messages = dialect.cut(data)
        self._frame = dialect.frame
        self.take(messages)
        violation = dialect.framer.violation
        if violation is not None:
            self.lose(violation)

    def _awaits(self, message: Message) -> bool:
        return message.method is None and normal_id(message.id) in self._pending
