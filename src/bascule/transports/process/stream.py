"""Dispatcher base class for byte streams: pipes, or a server object in this process. The framing (lines or a length
prefix) is detected once, in the first bytes of the peer."""

from collections.abc import Callable

from bascule.core.errors import ProtocolViolation
from bascule.transports.jsonrpc import MessageDispatcher
from bascule.wire.framing import Framer, LengthFramer, LineFramer, as_line, framing_of, with_length
from bascule.wire.jsonrpc import Message, normal_id, read_message


class Dialect:
    """Framing of one stream in both directions, detected once, in the first bytes. `awaited` returns if a message
    answers one of ours."""

    __slots__ = ("_awaited", "_max_message", "_start", "cut", "frame", "framer")

    def __init__(self, max_message: int, awaited: Callable[[Message], bool]) -> None:
        self.framer: Framer = LineFramer(max_message)
        self.cut: Callable[[bytes], list[bytes]] = self._first_cut
        """Gives the messages that some bytes complete. After the first bytes it is the framer's own `feed`."""
        self.frame: Callable[[bytes], bytes] = as_line
        """Puts a message of ours into the bytes of the stream."""
        self._max_message = max_message
        self._awaited = awaited
        self._start = b""

    def _first_cut(self, data: bytes) -> list[bytes]:
        self._start += data
        framing = framing_of(self._start)
        if framing is None:
            return []
        start, self._start = self._start, b""
        if framing == "lengths":
            self.framer = LengthFramer(self._max_message)
            self.cut = self._first_with_length
        else:
            self.cut = self.framer.feed
        return self.cut(start)

    def _first_with_length(self, data: bytes) -> list[bytes]:
        """Most such servers read lines as well: one that answers the line we sent is sent lines. One that speaks before
        it has answered is answered in kind."""
        messages = self.framer.feed(data)
        if messages:
            self.cut = self.framer.feed
            self.frame = as_line if self._is_reply(messages[0]) else with_length
        return messages

    def _is_reply(self, data: bytes) -> bool:
        try:
            return self._awaited(read_message(data))
        except ProtocolViolation:
            return False


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
