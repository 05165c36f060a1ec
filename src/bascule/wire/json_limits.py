"""How many values a JSON text holds for its length, told from its bytes before anything is built from them."""

from collections.abc import Iterator

from bascule.core.errors import ProtocolViolation
from bascule.wire.json_limits__pieces import unescaped_pieces

MANY_VALUES = 262_144
BYTES_A_VALUE = 32
"""A text may hold that many values, or one for each so many bytes if that is more. Real results have 40 bytes a value
or more; eight megabytes of `1,` would take a hundred and fifty of memory, and the loop a tenth of a second."""

MANY_CONTAINERS = 87_381
BYTES_A_CONTAINER = 96
"""The same for objects and lists, which cost several times as much: eight megabytes of `{},` become two hundred."""

_TO_ONE_BRACKET = bytes.maketrans(b"{", b"[")
_NOT_COUNTED = bytes(set(range(256)) - set(b'[{,"'))


def refuse_dense(text: bytes | bytearray) -> None:
    """Raise `ProtocolViolation` if the text holds more values than its length excuses. Linear, with few bytes copied at
    a time, and over as soon as the answer is known."""
    most_values = max(MANY_VALUES, len(text) // BYTES_A_VALUE)
    most_containers = max(MANY_CONTAINERS, len(text) // BYTES_A_CONTAINER)
    if text.count(b",") <= most_values and text.count(b"[") + text.count(b"{") <= most_containers:
        return
    values = containers = 0
    for outside in _outside_of_strings(text):
        values += outside.count(b",")
        containers += outside.count(b"[")
        if values > most_values or containers > most_containers:
            raise ProtocolViolation(
                f"a message of {len(text)} bytes holds more than "
                + (f"{most_values} values" if values > most_values else f"{most_containers} objects and lists"),
                cause="it is made to cost more memory and time than it took to send",
                fix="ask the server for less at a time, or for text in place of so many small values",
            )


def _outside_of_strings(text: bytes | bytearray) -> Iterator[bytes]:
    """The commas and brackets that are not part of a string, those of objects as those of lists."""
    within = 0
    for piece in unescaped_pieces(text):
        marks = piece.translate(_TO_ONE_BRACKET, _NOT_COUNTED).split(b'"')
        yield b"".join(marks[within::2])
        within ^= (len(marks) - 1) & 1
