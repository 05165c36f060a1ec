"""Hash chain of the audit log: every record carries a MAC over itself and the MAC before it. Pure."""

from binascii import hexlify
from hashlib import blake2b

import msgspec

MAC_BYTES = 32

_BEFORE, _AFTER = b',"mac":"', b'"}'
_AFTER_AND_END = _AFTER + b"\n"
_TAIL = len(_BEFORE) + 2 * MAC_BYTES + len(_AFTER)
"""Bytes at the end of each line that its MAC does not cover, because they hold it."""

_FIRST = b"bascule audit chain\n"


class Head(msgspec.Struct, frozen=True):
    """What every record begins with."""

    seq: int
    at: float
    kind: str


_HEAD = msgspec.json.Decoder(Head)


class Macs:
    """Makes the MACs of one chain: BLAKE2b with a key, which is a MAC by itself and takes half the time of HMAC-SHA256.
    The key is taken in once."""

    __slots__ = ("first", "keyed")

    def __init__(self, key: bytes, writer: str) -> None:
        self.keyed = blake2b(key=key, digest_size=MAC_BYTES)
        self.first = self.over(b"", _FIRST + writer.encode())
        """What stands in place of a MAC before the first record: so the chain of one writer is never another's."""

    def over(self, before: bytes, body: bytes) -> bytes:
        mac = self.keyed.copy()
        mac.update(before + body)
        return mac.digest()


class Chain:
    """One chain, and where it ends."""

    __slots__ = ("_keyed", "mac", "sequence")

    def __init__(self, macs: Macs, sequence: int = 0, mac: bytes | None = None) -> None:
        self._keyed = macs.keyed
        self.sequence = sequence
        self.mac = macs.first if mac is None else mac

    def add(self, bodies: bytes) -> bytes:
        """The lines of records that are given as lines of JSON. The last of them is the chain's end from now on. They
        carry the next numbers."""
        copy, mac = self._keyed.copy, self.mac
        lines: list[bytes] = []
        found = bodies.split(b"\n")
        found.pop()
        for body in found:
            # As in `Macs.over`, without the detour: every call takes this way twice.
            made = copy()
            made.update(mac + body)
            mac = made.digest()
            lines += (body[:-1], _BEFORE, hexlify(mac), _AFTER_AND_END)
        self.mac = mac
        self.sequence += len(found)
        return b"".join(lines)


def split(line: bytes) -> tuple[bytes, bytes] | None:
    """A line, without its end, as the record that was signed and its MAC. None if it is not built so."""
    cut = len(line) - _TAIL
    if cut < 2 or line[cut : cut + len(_BEFORE)] != _BEFORE or not line.endswith(_AFTER):
        return None
    digits = line[cut + len(_BEFORE) : -len(_AFTER)]
    try:
        mac = bytes.fromhex(digits.decode())
    except ValueError:
        return None
    # Only one way of writing a MAC counts: else a line could be altered without a trace.
    return (line[:cut] + b"}", mac) if hexlify(mac) == digits else None


def head_of(body: bytes) -> Head | None:
    try:
        return _HEAD.decode(body)
    except (msgspec.MsgspecError, UnicodeError):
        return None
