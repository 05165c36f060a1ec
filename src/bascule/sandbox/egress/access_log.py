"""Access log of the egress proxy: its JSON format for Envoy, and the parser of its lines."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import msgspec

from bascule.sandbox.egress.rules import ADDRESS, HOST, PORT, SCHEME

LONGEST = 16 * 1024
"""Bytes of a line. Envoy is told to write less."""

Reason = Literal[
    "", "address", "host", "port", "scheme", "private", "unresolved", "unreachable", "too many", "upgrade", "malformed"
]
"""Why the proxy answered itself. Nothing where the host was asked; what it answered is its own affair."""

_RULES: tuple[Reason, ...] = (ADDRESS, HOST, PORT, SCHEME)


@dataclass(frozen=True, slots=True)
class Access:
    """Something that a box asked for. A tunnel has two of these: when it is open, and when it has ended."""

    time: float
    """When it was asked, in seconds since 1970."""
    box: str
    phase: Literal["opened", "ended"]
    method: str
    host: str
    """As it was asked for. Where it is refused, it may be any text."""
    port: int | None
    status: int
    reason: Reason
    sent: int
    """Bytes that left the box. Of a tunnel all that went through it, of others the body."""
    received: int
    address: str
    """Where it was connected to, if it was."""


class _Line(msgspec.Struct, frozen=True):
    box: int
    time: float
    kind: str | None = None
    method: str | None = None
    asked: str | None = None
    status: int | None = None
    details: str | None = None
    sent: int | None = None
    received: int | None = None
    address: str | None = None


_lines = msgspec.json.Decoder(_Line, strict=False)


def log_format(box: int) -> dict[str, Any]:
    return {
        "box": str(box),
        "time": "%START_TIME(%s.%3f)%",
        "kind": "%ACCESS_LOG_TYPE%",
        "method": "%REQ(:METHOD):20%",
        "asked": "%REQ(:AUTHORITY):300%",
        "status": "%RESPONSE_CODE%",
        "details": "%RESPONSE_CODE_DETAILS%",
        "sent": "%BYTES_RECEIVED%",
        "received": "%BYTES_SENT%",
        "address": "%UPSTREAM_REMOTE_ADDRESS%",
    }


class AccessLines:
    """Takes what Envoy writes, in whatever pieces it comes, and gives records. What is none is left out."""

    __slots__ = ("_rest", "_skipping")

    def __init__(self) -> None:
        self._rest = b""
        self._skipping = False

    def feed(self, data: bytes, boxes: Mapping[int, str]) -> Iterable[Access]:
        *whole, self._rest = (self._rest + data).split(b"\n")
        for line in whole:
            if self._skipping:
                self._skipping = False
            elif record := read(line, boxes):
                yield record
        if len(self._rest) > LONGEST:
            self._rest, self._skipping = b"", True


def read(line: bytes, boxes: Mapping[int, str]) -> Access | None:
    try:
        said = _lines.decode(line)
    except (msgspec.DecodeError, ValueError):
        return None
    host, port = _apart(said.asked or "", "80" if said.method != "CONNECT" else "")
    return Access(
        time=said.time,
        box=boxes.get(said.box, ""),
        phase="opened" if (said.kind or "").endswith("TunnelSuccessfullyEstablished") else "ended",
        method=said.method or "",
        host=host,
        port=port,
        status=said.status or 0,
        reason=_reason(said.details or "", said.status or 0),
        sent=said.sent or 0,
        received=said.received or 0,
        address=said.address or "",
    )


def _apart(asked: str, default: str) -> tuple[str, int | None]:
    host, colon, port = asked.rpartition(":")
    if not colon or port.endswith("]"):
        host, port = asked, default
    return host, int(port) if port.isascii() and port.isdecimal() and len(port) <= 5 else None


_TOLD: tuple[tuple[str, Reason], ...] = (
    *((f"matched_policy[{rule}]", rule) for rule in _RULES),
    ("matched_policy[none]", "private"),
    ("address_denied", "private"),
    ("dns_resolution_failure", "unresolved"),
    ("upgrade_failed", "upgrade"),
    ("rate_limited", "too many"),
)


def _reason(details: str, status: int) -> Reason:
    # What a host itself said, and a tunnel, whatever became of it later.
    if details == "via_upstream" or (200 <= status < 300):
        return ""
    for text, reason in _TOLD:
        if text in details:
            return reason
    return "unreachable" if status >= 500 or status == 0 else "malformed"
