"""Protocol of the raise socket, over which a kit server reads and raises the sensitivity level of its agent session:
one line of JSON per request, one line back."""

from typing import Any

import msgspec

from bascule.core.errors import ProtocolViolation
from bascule.core.json_types import is_object
from bascule.core.sensitivity import DataSensitivity

LONGEST = 4096
"""Bytes of a line, its end included. The longest name of a dataset, every letter of it escaped, is shorter."""

ASK = "level"


class Raise(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A private dataset is about to be given out."""

    dataset: str
    sensitivity: str
    """The name of a level, in lower case."""

    @property
    def level(self) -> DataSensitivity:
        return DataSensitivity[self.sensitivity.upper()]


class _Request(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Exactly one of the two."""

    ask: str | None = None
    to_raise: Raise | None = msgspec.field(default=None, name="raise")


_decode = msgspec.json.Decoder(_Request, strict=True).decode
_encode = msgspec.json.Encoder().encode
_NAMES = {level.name.lower(): level for level in DataSensitivity}


def asking() -> bytes:
    return _line({"ask": ASK})


def raising(dataset: str, sensitivity: DataSensitivity) -> bytes:
    return _line({"raise": {"dataset": dataset, "sensitivity": sensitivity.name.lower()}})


def read_request(line: bytes) -> Raise | None:
    """What a server wants raised. None, if it only asks. Raises `ProtocolViolation` for whatever else it says."""
    try:
        request = _decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise _not_understood() from None
    wanted = request.to_raise
    if (request.ask is None) == (wanted is None) or request.ask not in {None, ASK}:
        raise _not_understood()
    if wanted is not None and wanted.sensitivity not in _NAMES:
        raise _not_understood()
    return wanted


def telling(level: DataSensitivity) -> bytes:
    return _line({"level": level.name.lower()})


def refusing(why: str) -> bytes:
    return _line({"error": why})


def read_reply(line: bytes) -> DataSensitivity:
    """How private the agent session is. Raises `ProtocolViolation` for whatever does not say so."""
    try:
        reply: Any = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        reply = None
    level = reply.get("level") if is_object(reply) else None
    if isinstance(level, str) and level in _NAMES:
        return _NAMES[level]
    why = reply.get("error") if is_object(reply) else None
    raise ProtocolViolation(why if isinstance(why, str) else "what came back tells no level")


def _line(value: Any) -> bytes:
    return _encode(value) + b"\n"


def _not_understood() -> ProtocolViolation:
    return ProtocolViolation(
        "it can be asked for the level, or told of a dataset",
        fix='send {"ask": "level"}, or {"raise": {"dataset": "…", "sensitivity": "confidential"}}',
    )
